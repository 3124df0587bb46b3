// `bailiwick what-can <policy> <provider:subject>`: the whole tree for one identity, or for one person.
import { formatIdentity, formatInstant } from '../../../engine/index.js';
import { identitiesOf, personWith, readIdentity } from '../actor.js';
import { noteOnTime, openPolicy, openToAsk } from '../open-policy.js';
import { escapeText } from '../render/escape.js';
import { usage } from '../exit.js';
import type { Answer, CliIo } from '../io.js';
import { formats, instantOption } from '../options.js';
import { paintFor } from '../render/terminal.js';
import { type Given, takes, verb } from '../verb.js';

const TAKES = takes({
  '<policy>': 'policy folder, snapshot file, or `<revision>:<path>` in git',
  '[identity]': '`provider:subject`, unless `--person` is given',
  '--person <name>': 'person of the policy, with all their identities',
  '--at <instant>': 'time to ask about, under this policy, as RFC 3339 (default: now)',
  ...formats(),
});

export const defineWhatCan = verb(TAKES, whatCan, {
  examples: {
    'what somebody may do': 'bailiwick what-can policies orcid:0000-0002-1825-0097',
    'what a person may do, with all their identities': 'bailiwick what-can policies --person ana-ito',
    'where they may write': `bailiwick what-can policies orcid:0000-0002-1825-0097 --format json | jq '.access[] | select(.scopes[] | endswith(":write")) | .namespace'`,
  },
  json: [
    '{"identity","person"?,"at","snapshot","access":[{"namespace","extent","except"?,"scopes","grants":[GrantRef]}]}',
    'With `--person`: "person" and "identities" in place of "identity", and "exclusive", two identities that the policy keeps apart.',
    '`extent` is exact, subtree or below (without the namespace itself); `except` lists subtrees that are left out.',
  ],
});

async function whatCan(
  io: CliIo,
  { policy: path, identity, person, at, format }: Given<typeof TAKES>,
): Promise<Answer> {
  if ((identity === undefined) === (person === undefined))
    throw usage('name either one identity or one person', 'write `provider:subject`, or `--person <name>`');
  const [engine, { notesOn, renderWhatCan }, { pairKeptApart }] = await Promise.all([
    import('../../../engine/compiler.js'),
    import('../render/answers.js'),
    import('../../policy/open/one-person.js'),
  ]);
  const typed = identity === undefined ? [] : [readIdentity(identity)];
  const instant = instantOption(at);
  // Only JSON names the snapshot.
  const open = format === 'json' ? openPolicy : openToAsk;
  const { policy, source, set } = await open(io, path, 'study');
  const identities = person === undefined ? typed : identitiesOf(person, { set, shown: path });
  const name = person ?? personWith(identities, set);
  const texts = identities.map(formatIdentity);
  const access = engine.whatCan(policy, { identities, at: instant });
  const apart = pairKeptApart(policy, identities);
  const note =
    apart === null
      ? ''
      : `note: \`exclusive\` keeps ${escapeText(apart.join(' and '))} apart: whoever has both is denied everything, so this is what the identities may do one by one\n`;
  const holder = { person: name, identities: texts, at: instant };
  return {
    json: () => ({
      identity,
      person: name,
      identities: person === undefined ? undefined : texts,
      at: formatInstant(instant),
      snapshot: policy.digest,
      exclusive: apart ?? undefined,
      access,
    }),
    notes: () => notesOn(policy, identities) + note + noteOnTime(source, { asked: at !== undefined, at: instant }),
    text: () => renderWhatCan(access, holder, paintFor(io, 'stdout')),
  };
}
