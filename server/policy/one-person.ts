// Whether the identities of one key are one person's. Guardrails are proved for each person, so a key that joins two of them may do
// what no guardrail was asked about. Refuses to decide: what it finds is for people.
import { readPolicy } from '../../engine/compiler.js';
import { formatIdentity, type Identity } from '../../engine/index.js';
import { readFolder } from './read-folder.js';

/** What speaks against it; null where nothing does. `policy` is the folder whose `people` are asked, null where there is none. */
export async function findSeveralPeople(
  identities: readonly Identity[],
  policy: string | null,
): Promise<string | null> {
  if (identities.length < 2) return null;
  const people = policy === null ? null : await peopleOf(policy);
  return people === null ? accountsOfOneProvider(identities) : severalPeople(identities, people);
}

/** Names of people by their identities as texts; null where the policy cannot say. */
async function peopleOf(folder: string): Promise<ReadonlyMap<string, string> | null> {
  const reading = await readFolder(folder);
  if (reading.kind === 'path') return null;
  const { policy } = readPolicy(reading.files);
  if (policy === null) return null;
  return new Map(
    policy.people.flatMap(({ name, identities }) =>
      identities.map((identity): [string, string] => [formatIdentity(identity), name]),
    ),
  );
}

function severalPeople(identities: readonly Identity[], people: ReadonlyMap<string, string>): string | null {
  const texts = identities.map(formatIdentity);
  const persons = new Set(texts.map((text) => people.get(text) ?? `\0${text}`));
  if (persons.size === 1) return null;
  const each = texts.map((text) => {
    const name = people.get(text);
    return name === undefined ? `${text} is not named in \`people\`` : `${text} is \`${name}\``;
  });
  return `the policy knows these identities as ${String(persons.size)} people (${each.join(', ')})`;
}

/** Where no policy is asked: nobody is two subjects of one provider, usually. */
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
