// `bailiwick who-can <policy> <scope> <namespace>`: everyone who holds a scope there, complete.
import type { Command } from 'commander';
import { formatInstant } from '../../../engine/index.js';
import { personsOf, readNamespace, requireScope } from '../actor.js';
import { type CliIo, write, writeLargeJson } from '../io.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { type Format, formatOption, instantOption, withExamples, withJson } from '../options.js';
import { paintFor } from '../render/terminal.js';

interface WhoCanOptions {
  readonly at?: string;
  readonly format: Format;
}

export function defineWhoCan(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder, snapshot file, or `<revision>:<path>` in git')
    .argument('<scope>', 'such as `resource:write`')
    .argument('<namespace>', 'any path, whether or not a grant names it')
    .option('--at <instant>', 'time to ask about, under this policy, as RFC 3339 (default: now)')
    .addOption(formatOption())
    .action((policy: string, scope: string, namespace: string, options: WhoCanOptions) =>
      whoCan(io, { policy, scope, namespace }, options),
    );
  withExamples(command, [
    ['who may write here', 'bailiwick who-can policies resource:write /beamlines/amx'],
    [
      'who will be able to read next year',
      'bailiwick who-can snapshot.json resource:read /proposals --at 2027-06-01T00:00:00Z',
    ],
  ]);
  withJson(command, [
    '{"scope","namespace","at","snapshot","identities":[{"identity","person"?,"grants":[GrantRef]}]}',
    '`person` is the owner of the identity, if the policy is a folder that names one under `people`.',
    'GrantRef is {"id","file","line","reason"?}, and for a grant to a role "through": [{"role","description"?,"file",',
    '"line","notBefore"?,"expires"?}], the memberships that lead from the identity to that role, with their windows.',
    'Snapshots before format 3 have no `reason` and no `description`.',
  ]);
}

async function whoCan(
  io: CliIo,
  asked: { readonly policy: string; readonly scope: string; readonly namespace: string },
  { at, format }: WhoCanOptions,
): Promise<void> {
  const engine = await import('../../../engine/compiler.js');
  const place = { namespace: readNamespace(asked.namespace), at: await instantOption(at) };
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, asked.policy, 'study');
  const request = { scope: requireScope(policy, asked.scope), ...place };
  const persons = set === null ? new Map<string, string>() : personsOf(set);
  const holders = engine.whoCan(policy, request).map(({ identity, grants }) => {
    const person = persons.get(identity);
    return { identity, ...(person === undefined ? {} : { person }), grants };
  });
  if (format === 'json') {
    const { scope, namespace } = request;
    await writeLargeJson(io, [
      ['scope', scope],
      ['namespace', namespace],
      ['at', formatInstant(request.at)],
      ['snapshot', policy.digest],
      ['identities', holders],
    ]);
    return;
  }
  const { noteOnPlace, renderWhoCan } = await import('../render/answers.js');
  const time = noteOnTime(source, { asked: at !== undefined, at: request.at });
  await write(io.stderr, noteOnPlace(policy, request.namespace) + time);
  await write(io.stdout, renderWhoCan(holders, request, paintFor(io, 'stdout')));
}
