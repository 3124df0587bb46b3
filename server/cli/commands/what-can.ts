// `bailiwick what-can <policy> <provider:subject>`: the whole tree for one identity.
import type { Command } from 'commander';
import { notesOn, readIdentity } from '../actor.js';
import { type CliIo, write, writeLargeJson } from '../io.js';
import { type Format, formatOption, instantOption, withExamples, withJson } from '../options.js';

interface Options {
  readonly at?: string;
  readonly format: Format;
}

export function defineWhatCan(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder or snapshot file')
    .argument('<identity>', '`provider:subject`')
    .option('--at <instant>', 'time to ask about, under this policy, as RFC 3339 (default: now)')
    .addOption(formatOption())
    .action((policy: string, identity: string, options: Options) => whatCan(io, { policy, identity }, options));
  withExamples(command, [
    ['what somebody may do', 'bailiwick what-can policies orcid:0000-0002-1825-0097'],
    [
      'where they may write',
      `bailiwick what-can policies orcid:0000-0002-1825-0097 --format json | jq '.access[] | select(.scopes[] | endswith(":write")) | .namespace'`,
    ],
  ]);
  withJson(command, [
    '{"identity","at","snapshot","access":[{"namespace","extent","except"?,"scopes","grants":[GrantRef]}]}',
    '`extent` is exact, subtree or below (without the namespace itself); `except` lists subtrees that are left out.',
  ]);
}

async function whatCan(io: CliIo, asked: { policy: string; identity: string }, { at, format }: Options): Promise<void> {
  const [engine, { formatInstant }, { noteOnTime, openPolicy }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../../../engine/index.js'),
    import('../open-policy.js'),
  ]);
  const identity = readIdentity(asked.identity);
  const instant = await instantOption(at);
  const { policy, source } = await openPolicy(io, asked.policy, 'study');
  const access = engine.whatCan(policy, { identity, at: instant });
  if (format === 'json') {
    await writeLargeJson(io, [
      ['identity', asked.identity],
      ['at', formatInstant(instant)],
      ['snapshot', policy.digest],
      ['access', access],
    ]);
    return;
  }
  const [{ renderWhatCan }, { paintFor }] = await Promise.all([
    import('../render/answers.js'),
    import('../render/terminal.js'),
  ]);
  const time = noteOnTime(source, { asked: at !== undefined, at: instant });
  await write(io.stderr, notesOn(policy, [identity]) + time);
  await write(io.stdout, renderWhatCan(access, { identity: asked.identity, at: instant }, paintFor(io, 'stdout')));
}
