// People as a policy folder names them (`people`): whom `--person` means, and who has which identity.
import type { PolicySet } from '../../engine/compiler.js';
import { formatIdentity, type Identity, nearest } from '../../engine/index.js';
import { type CliFailure, usage } from './exit.js';

/** A policy that was opened, and how the user named it. */
export interface NamedPolicy {
  readonly set: PolicySet | null;
  readonly shown: string;
}

/** Throws `CliFailure` 2 if the policy does not name the person. */
export function identitiesOf(person: string, { set, shown }: NamedPolicy): readonly Identity[] {
  if (set === null) {
    throw usage(
      `\`${shown}\` is a snapshot, which does not name people, so \`--person\` has no meaning`,
      'name the policy folder',
    );
  }
  const found = set.people.find(({ name }) => name === person);
  if (found !== undefined) return found.identities;
  throw unknownPerson(
    person,
    set.people.map(({ name }) => name),
  );
}

export function unknownPerson(person: string, known: readonly string[]): CliFailure {
  const meant = nearest(person, known);
  const help = meant === null ? 'people are named under `people` in the policy' : `did you mean \`${meant}\`?`;
  return usage(`the policy names no person \`${person}\``, help);
}

/** Names of people by the texts of their identities; a snapshot has none. */
export function personsOf({ people }: Pick<PolicySet, 'people'>): ReadonlyMap<string, string> {
  return new Map(
    people.flatMap(({ name, identities }) =>
      identities.map((identity): [string, string] => [formatIdentity(identity), name]),
    ),
  );
}

/** Whose identities these are; undefined unless all of them belong to one person. */
export function personWith(identities: readonly Identity[], set: PolicySet | null): string | undefined {
  const known = set === null ? new Map<string, string>() : personsOf(set);
  const [first, ...others] = new Set(identities.map((identity) => known.get(formatIdentity(identity))));
  return others.length === 0 ? first : undefined;
}
