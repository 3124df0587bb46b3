// Doubts about the identities of a new key, judged by a policy: names that the policy does not know, and identities of
// several people. Guardrails are proved for each person, so a key that joins two people may do what no guardrail has
// checked. Decides nothing: the doubts are for people.
import { unknownPart } from '../../engine/compiler.js';
import { formatIdentity, type Identity, type Policy } from '../../engine/index.js';
import { checkPolicy } from './check-policy.js';
import { openPolicy } from './open-policy.js';

export interface KeyDoubt {
  readonly text: string;
  readonly help: string;
}

/** `policy` is the folder or snapshot to ask; null if there is none. */
export async function doubtsOf(identities: readonly Identity[], policy: string | null): Promise<readonly KeyDoubt[]> {
  if (identities.length === 0) return [];
  const asked = policy === null ? NOT_ASKED : await ask(policy);
  if (asked === null)
    return [
      {
        text: `the policy \`${policy ?? ''}\` cannot be used, so it was not asked about these identities`,
        help: '`bailiwick check` or `bailiwick verify` says what is wrong with it',
      },
      ...severalPeople(identities, NOT_ASKED),
    ];
  return [...unknownNames(identities, asked.policy), ...severalPeople(identities, asked)];
}

interface Asked {
  readonly policy: Policy | null;
  /** Names of people by the texts of their identities; null if nobody can say, because a snapshot has none. */
  readonly people: ReadonlyMap<string, string> | null;
}

const NOT_ASKED: Asked = { policy: null, people: null };
/** Runs no tests: neither tests nor guardrails say anything about a key. */
const NO_TESTS = /(?!)/;

async function ask(path: string): Promise<Asked | null> {
  const checked = await checkPolicy({ folder: path, onlyTests: NO_TESTS });
  if (checked.kind === 'path') {
    const opened = checked.fault.kind === 'not_a_folder' ? await openPolicy(path, 'use') : null;
    return opened?.kind === 'opened' ? { policy: opened.policy, people: null } : null;
  }
  const { compiled } = checked.report;
  if (compiled === null) return null;
  const people = compiled.set.people.flatMap(({ name, identities }) =>
    identities.map((identity): [string, string] => [formatIdentity(identity), name]),
  );
  return { policy: compiled.handle, people: new Map(people) };
}

function unknownNames(identities: readonly Identity[], policy: Policy | null): readonly KeyDoubt[] {
  if (policy === null) return [];
  return identities.flatMap((identity) => {
    const unknown = unknownPart(policy, identity);
    if (unknown === null) return [];
    const name = formatIdentity(identity);
    const { part, meant } = unknown;
    const text =
      part === 'provider'
        ? `the policy declares no provider \`${identity.provider}\``
        : `the policy names \`${name}\` nowhere`;
    const help = `with \`${name}\` the key may do nothing until a role or a grant names it`;
    return [{ text, help: meant === null ? help : `did you mean \`${meant}\`? ${help}` }];
  });
}

function severalPeople(identities: readonly Identity[], { policy, people }: Asked): readonly KeyDoubt[] {
  if (identities.length < 2) return [];
  const said = people === null ? accountsOfOneProvider(identities) : personsOf(identities, people);
  if (said === null) return people === null && policy !== null ? [NO_PEOPLE] : [];
  return [
    {
      text: `${said}: this key may do what all of them may do together, and guardrails check each alone`,
      help: "make one key for each; if they are one person's, say so under `people` in the policy",
    },
  ];
}

const NO_PEOPLE: KeyDoubt = {
  text: 'a snapshot does not name people, so it is not known whether these identities belong to one person',
  help: 'name the policy folder with `--policy`',
};

function personsOf(identities: readonly Identity[], people: ReadonlyMap<string, string>): string | null {
  const texts = identities.map(formatIdentity);
  const persons = new Set(texts.map((text) => people.get(text) ?? `\0${text}`));
  if (persons.size === 1) return null;
  const each = texts.map((text) => {
    const name = people.get(text);
    return name === undefined ? `${text} is not named in \`people\`` : `${text} is \`${name}\``;
  });
  return `the policy counts these identities as ${String(persons.size)} people (${each.join(', ')})`;
}

/** Used if there is no policy to ask: usually nobody is two subjects of one provider. */
function accountsOfOneProvider(identities: readonly Identity[]): string | null {
  const byProvider = new Map<string, string[]>();
  for (const identity of identities) {
    const same = byProvider.get(identity.provider) ?? [];
    byProvider.set(identity.provider, [...same, formatIdentity(identity)]);
  }
  const several = [...byProvider.values()].find((texts) => texts.length > 1);
  if (several === undefined) return null;
  return `${several.join(' and ')} are of one provider: two identities of one provider usually belong to two people`;
}
