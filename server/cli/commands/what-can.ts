// `bailiwick what-can <policy> <provider:subject>`: the whole tree for one identity, or for one person.
import type { Command } from 'commander';
import { formatIdentity, formatInstant } from '../../../engine/index.js';
import { identitiesOf, personWith, readIdentity } from '../actor.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { escapeText } from '../render/escape.js';
import { usage } from '../exit.js';
import { type CliIo, write, writeLargeJson } from '../io.js';
import { type Format, formatOption, instantOption, withExamples, withJson } from '../options.js';
import { paintFor } from '../render/terminal.js';

interface WhatCanOptions {
  readonly person?: string;
  readonly at?: string;
  readonly format: Format;
}

export function defineWhatCan(command: Command, io: CliIo): void {
  command
    .argument('<policy>', 'policy folder, snapshot file, or `<revision>:<path>` in git')
    .argument('[identity]', '`provider:subject`, unless `--person` is given')
    .option('--person <name>', 'person of the policy, with all their identities')
    .option('--at <instant>', 'time to ask about, under this policy, as RFC 3339 (default: now)')
    .addOption(formatOption())
    .action((policy: string, identity: string | undefined, options: WhatCanOptions) =>
      whatCan(io, { policy, identity }, options),
    );
  withExamples(command, [
    ['what somebody may do', 'bailiwick what-can policies orcid:0000-0002-1825-0097'],
    ['what a person may do, with all their identities', 'bailiwick what-can policies --person ana-ito'],
    [
      'where they may write',
      `bailiwick what-can policies orcid:0000-0002-1825-0097 --format json | jq '.access[] | select(.scopes[] | endswith(":write")) | .namespace'`,
    ],
  ]);
  withJson(command, [
    '{"identity","person"?,"at","snapshot","access":[{"namespace","extent","except"?,"scopes","grants":[GrantRef]}]}',
    'With `--person`: "person" and "identities" in place of "identity", and "exclusive", two identities that the policy keeps apart.',
    '`extent` is exact, subtree or below (without the namespace itself); `except` lists subtrees that are left out.',
  ]);
}

interface WhatCanRequest {
  readonly policy: string;
  readonly identity: string | undefined;
}

async function whatCan(io: CliIo, asked: WhatCanRequest, { person, at, format }: WhatCanOptions): Promise<void> {
  if ((asked.identity === undefined) === (person === undefined))
    throw usage('name either one identity or one person', 'write `provider:subject`, or `--person <name>`');
  const [engine, { pairKeptApart }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../../policy/open/one-person.js'),
  ]);
  const typed = asked.identity === undefined ? [] : [readIdentity(asked.identity)];
  const instant = await instantOption(at);
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, asked.policy, 'study');
  const identities = person === undefined ? typed : identitiesOf(person, { set, shown: asked.policy });
  const name = person ?? personWith(identities, set);
  const texts = identities.map(formatIdentity);
  const access = engine.whatCan(policy, { identities, at: instant });
  const apart = pairKeptApart(policy, identities);
  if (format === 'json') {
    await writeLargeJson(io, [
      ['identity', asked.identity],
      ['person', name],
      ['identities', person === undefined ? undefined : texts],
      ['at', formatInstant(instant)],
      ['snapshot', policy.digest],
      ['exclusive', apart ?? undefined],
      ['access', access],
    ]);
    return;
  }
  const { notesOn, renderWhatCan } = await import('../render/answers.js');
  const time = noteOnTime(source, { asked: at !== undefined, at: instant });
  const note =
    apart === null
      ? ''
      : `note: \`exclusive\` keeps ${escapeText(apart.join(' and '))} apart: whoever has both is denied everything, so this is what the identities may do one by one\n`;
  await write(io.stderr, notesOn(policy, identities) + note + time);
  await write(
    io.stdout,
    renderWhatCan(access, { person: name, identities: texts, at: instant }, paintFor(io, 'stdout')),
  );
}
