// Which people count for one guardrail (`to` and `except`). Identities that `except` names are left out. A person counts if `to` names
// any of their remaining identities, and then with all of the remaining ones: a human can combine what they hold through several
// identities.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { remember } from '../../model/group.js';
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../../model/identity.js';
import { sortTexts } from '../../model/order.js';
import type { Audience, Parties, PolicyPerson } from '../../model/policy-set.js';
import { unionOfRows } from '../../model/row-lists.js';
import { identityRow, identityText, type Party } from '../cells/identities.js';
import { withMembersBelow } from '../cells/membership.js';
import type { RowNumbers, World } from './scene.js';

/** A human of several identities. An identity that `people` does not name is a person of its own. */
interface Person {
  readonly name: string;
  /** The sorted rows of the identities that the policy grants something or has in a role. */
  readonly rows: Int32Array;
  /** Identities that the policy names only in `people`. They hold nothing, but a guardrail may name them. */
  readonly others: readonly Identity[];
}

export interface People {
  readonly named: readonly Person[];
  /** The named person of an identity row. */
  readonly ofIdentity: ReadonlyMap<number, Person>;
}

export function makePeople(policy: PreparedPolicy, declared: readonly PolicyPerson[]): People {
  const named = declared.map(({ name, identities }) => {
    const rows = identities.map((identity) => identityRow(policy, identity));
    return {
      name,
      rows: Int32Array.from(rows.filter((row) => row !== undefined)).sort(),
      others: identities.filter((_, i) => rows[i] === undefined),
    };
  });
  return { named, ofIdentity: new Map(named.flatMap((person) => Array.from(person.rows, (row) => [row, person]))) };
}

/**
 * A person is identified by the row of their first identity that counts. So a person with one identity has that identity's row.
 */
export interface Counted {
  /** The people who are a principal or are in it with an identity that counts, sorted. */
  readonly reach: (principal: number) => RowNumbers;
  /** The identities of a person that count, sorted. */
  readonly identitiesOf: (person: number) => RowNumbers;
  /** The person's identities that `to` names, as texts; empty if there is no `to`. */
  readonly namedBy: (person: number) => readonly string[];
  /** All who count. */
  readonly parties: () => Iterable<Party>;
  /** Whether some person counts with several identities. */
  readonly hasSeveral: boolean;
}

/** The person of an identity that does not count. */
const NOBODY = -1;

/**
 * Counts the identities of some providers and of their group claims, each by itself and regardless of `people`. This is for a rule about
 * grants, and a grant to a group is a grant to everybody in it.
 */
export function countProviders(world: World, providers: readonly string[]): Counted {
  const isNamed = makeNamed(world, { providers, roles: [], identities: [] });
  const personOf = rowsThat(world, isNamed.row);
  return countedBy(world, { personOf, several: new Map(), namedBy: new Map() });
}

export function countPeople(world: World, { to, except }: Parties): Counted {
  const { policy, people } = world;
  const isLeftOut = makeNamed(world, { ...except, providers: [] });
  const isNamed = to === null ? null : makeNamed(world, to);
  const counts = (row: number): boolean => isNamed === null || isNamed.row(row);
  const personOf = rowsThat(world, (row) => !isLeftOut.row(row) && (people.ofIdentity.has(row) || counts(row)));
  const several = new Map<number, RowNumbers>();
  const namedBy = new Map<number, readonly string[]>();
  for (const { rows, others } of people.named) {
    const remaining = rows.filter((row) => personOf[row] !== NOBODY);
    const speaking = others.filter((identity) => isNamed?.identity(identity) === true && !isLeftOut.identity(identity));
    const isSpokenOf = remaining.some(counts) || speaking.length > 0;
    const [first = NOBODY] = isSpokenOf ? remaining : [];
    for (const row of remaining) personOf[row] = first;
    if (isSpokenOf && remaining.length > 1) several.set(first, remaining);
    if (isNamed !== null && isSpokenOf) {
      const named = Array.from(remaining.filter(counts), (row) => identityText(policy, row));
      namedBy.set(first, sortTexts([...named, ...speaking.map(formatIdentity)]));
    }
  }
  return countedBy(world, { personOf, several, namedBy });
}

/** Each identity that counts as a person of its own. */
function rowsThat({ policy }: World, counts: (row: number) => boolean): Int32Array {
  return new Int32Array(policy.tables.identities.subject.length).map((_, row) => (counts(row) ? row : NOBODY));
}

interface Counting {
  /** For each identity row, the person that it counts as. */
  readonly personOf: Int32Array;
  /** The people who count with several identities. */
  readonly several: ReadonlyMap<number, RowNumbers>;
  readonly namedBy: ReadonlyMap<number, readonly string[]>;
}

function countedBy({ reach }: World, { personOf, several, namedBy }: Counting): Counted {
  const isPlain = personOf.every((person, row) => person === row);
  const reachOf = (principal: number): Int32Array => {
    const people = reach(principal).map((row) => personOf[row] ?? NOBODY);
    const counted = people.filter((person) => person !== NOBODY);
    return several.size === 0 ? counted : unionOfRows([counted]);
  };
  const identitiesOf = (person: number): RowNumbers => several.get(person) ?? [person];
  return {
    reach: isPlain ? reach : remember(reachOf),
    identitiesOf,
    namedBy: (person) => namedBy.get(person) ?? [],
    hasSeveral: several.size > 0,
    *parties() {
      for (let row = 0; row < personOf.length; row += 1)
        if (personOf[row] === row) yield { row, identities: identitiesOf(row) };
    },
  };
}

interface Named {
  readonly row: (identity: number) => boolean;
  /** For identities that have no row. */
  readonly identity: (identity: Identity) => boolean;
}

/** Whether an identity is named: directly, through a role that it is in (directly or nested), or through its provider. */
function makeNamed({ policy, membership }: World, { providers, roles, identities }: Audience): Named {
  const { tables } = policy;
  const firstIdentity = tables.roles.name.length;
  // Somebody with a group of a provider has signed in there.
  const from = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
  const isFrom = tables.providers.map((provider) => (from.has(provider) ? 1 : 0));
  const byRow = new Uint8Array(tables.identities.provider.map((row) => isFrom[row] ?? 0));
  const wanted = new Set(roles);
  const rows = [...tables.roles.name.keys()].filter((row) => wanted.has(tables.roles.name[row] ?? ''));
  for (const principal of withMembersBelow(membership, rows))
    if (principal >= firstIdentity) byRow[principal - firstIdentity] = 1;
  const texts = new Set(identities.map(formatIdentity));
  for (const identity of identities) {
    const row = identityRow(policy, identity);
    if (row !== undefined) byRow[row] = 1;
  }
  return {
    row: (identity) => byRow[identity] === 1,
    identity: (identity) => from.has(identity.provider) || texts.has(formatIdentity(identity)),
  };
}
