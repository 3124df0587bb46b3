// Who counts for one guardrail (`to` and `except`), as people. Identities that `except` names are left out; of what remains,
// a person counts if `to` names any of it, and then with everything that remains: what a human may do here they may also do
// with what they hold by another identity.
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../../model/identity.js';
import { compareTexts } from '../../model/order.js';
import type { Audience, Parties } from '../../model/policy-set.js';
import { unionOfRows } from '../../model/row-lists.js';
import { type Group, groupsNear, identityText } from '../cells/identity-groups.js';
import { withMembersBelow } from '../cells/membership.js';
import type { World } from './world.js';

/**
 * A person is identified by the row of the first of their identities that count, so that a person of one identity is
 * its row.
 */
export interface Counted {
  /** Those people who are a principal or are in it by an identity that counts, sorted. */
  readonly reach: (principal: number) => Int32Array;
  /** The identities of a person that count, sorted. */
  readonly identitiesOf: (person: number) => readonly number[] | Int32Array;
  /** The identities of a person by which `to` names them, as texts; empty if there is no `to`. */
  readonly namedBy: (person: number) => readonly string[];
  /** People grouped by which of some principals (1 each) they are or are in; those of none are in no group. */
  readonly groupsNear: (principals: Uint8Array) => readonly Group[];
  /** Whether some person counts with several identities. */
  readonly hasSeveral: boolean;
}

/** A world as one guardrail sees it. */
export interface Scene extends World {
  readonly counted: Counted;
}

/** Identities that count as somebody else's, or do not count at all. */
const NOBODY = -1;

const EVERYONE: Parties = { to: null, except: { roles: [], identities: [] } };

/** Some identities (1 each), every one by itself: for rules that ask something of grants, not of people. */
export function countIdentities(world: World, counts: Uint8Array): Counted {
  const personOf = Int32Array.from(counts, (one, row) => (one === 1 ? row : NOBODY));
  return countedBy(world, { personOf, several: new Map(), namedBy: new Map() });
}

export function countPeople(world: World, { to, except }: Parties = EVERYONE): Counted {
  const { policy, people } = world;
  const isLeftOut = makeNamed(world, { ...except, providers: [] });
  const isNamed = to === null ? null : makeNamed(world, to);
  const counts = (row: number): boolean => isNamed === null || isNamed.row(row);
  const personOf = Int32Array.from(policy.tables.identities.subject, (_, row) =>
    !isLeftOut.row(row) && (people.ofIdentity(row) !== null || counts(row)) ? row : NOBODY,
  );
  const several = new Map<number, Int32Array>();
  const namedBy = new Map<number, readonly string[]>();
  for (const { rows, others } of people.named) {
    const remaining = rows.filter((row) => personOf[row] !== NOBODY);
    const speaking = others.filter((identity) => isNamed?.identity(identity) === true && !isLeftOut.identity(identity));
    const isSpokenOf = remaining.some(counts) || speaking.length > 0;
    const [first = NOBODY] = isSpokenOf ? remaining : [];
    for (const row of remaining) personOf[row] = first;
    if (isSpokenOf && remaining.length > 1) several.set(first, remaining);
    if (isNamed !== null && isSpokenOf) {
      const named = [...remaining].filter(counts).map((row) => identityText(policy, row));
      namedBy.set(first, [...named, ...speaking.map(formatIdentity)].sort(compareTexts));
    }
  }
  return countedBy(world, { personOf, several, namedBy });
}

interface Counting {
  /** For each identity row, the person that it counts as. */
  readonly personOf: Int32Array;
  /** Those who count with several identities. */
  readonly several: ReadonlyMap<number, Int32Array>;
  readonly namedBy: ReadonlyMap<number, readonly string[]>;
}

function countedBy({ policy, reach }: World, { personOf, several, namedBy }: Counting): Counted {
  const isPlain = personOf.every((person, row) => person === row);
  const counts = (row: number): boolean => isPlain || (personOf[row] === row && !several.has(row));
  const known = new Map<number, Int32Array>();
  const reachOf = (principal: number): Int32Array => {
    const people = reach(principal).map((row) => personOf[row] ?? NOBODY);
    const counted = people.filter((person) => person !== NOBODY);
    return several.size === 0 ? counted : unionOfRows([counted]);
  };
  return {
    reach: (principal) => {
      if (isPlain) return reach(principal);
      const found = known.get(principal) ?? reachOf(principal);
      known.set(principal, found);
      return found;
    },
    identitiesOf: (person) => several.get(person) ?? [person],
    namedBy: (person) => namedBy.get(person) ?? [],
    groupsNear: (principals) => joinGroups(groupsNear(policy, { principals, counts }), severalGroups(principals)),
    hasSeveral: several.size > 0,
  };

  /** The same for people with several identities, each with the principals of all their identities together. */
  function severalGroups(principals: Uint8Array): readonly Group[] {
    const { classOf, start, principals: held } = policy.holders;
    return [...several].flatMap(([person, identities]) => {
      const lists = Array.from(identities, (row) => classOf[row] ?? NOBODY)
        .filter((holder) => holder !== NOBODY)
        .map((holder) => held.subarray(start[holder], start[holder + 1]).filter((one) => principals[one] === 1));
      const all = unionOfRows(lists);
      return all.length === 0 ? [] : [{ principals: [...all], identities: [person] }];
    });
  }
}

/** Groups of the same principals as one. */
function joinGroups(groups: readonly Group[], more: readonly Group[]): readonly Group[] {
  if (more.length === 0) return groups;
  const joined = new Map<string, { readonly principals: readonly number[]; readonly identities: number[] }>();
  for (const { principals, identities } of [...groups, ...more]) {
    const key = principals.join();
    const known = joined.get(key) ?? { principals, identities: [] };
    joined.set(key, known);
    for (const identity of identities) known.identities.push(identity);
  }
  return [...joined.values()].map(({ principals, identities }) => ({
    principals,
    identities: identities.sort((a, b) => a - b),
  }));
}

interface Named {
  readonly row: (identity: number) => boolean;
  /** For identities that have no row. */
  readonly identity: (identity: Identity) => boolean;
}

/** Whether an identity is named: itself, by a role that it is in, however deep, or by where it comes from. */
function makeNamed({ policy, membership }: World, { providers, roles, identities }: Audience): Named {
  const { tables, identityRows } = policy;
  const firstIdentity = tables.roles.name.length;
  // Somebody with a group of a provider has signed in there.
  const from = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
  const byRow = Uint8Array.from(tables.identities.provider, (row) => (from.has(tables.providers[row] ?? '') ? 1 : 0));
  const wanted = new Set(roles);
  const rows = [...tables.roles.name.keys()].filter((row) => wanted.has(tables.roles.name[row] ?? ''));
  for (const principal of withMembersBelow(membership, rows))
    if (principal >= firstIdentity) byRow[principal - firstIdentity] = 1;
  const texts = new Set(identities.map(formatIdentity));
  for (const { provider, subject } of identities) {
    const row = identityRows.get(provider)?.get(subject);
    if (row !== undefined) byRow[row] = 1;
  }
  return {
    row: (identity) => byRow[identity] === 1,
    identity: (identity) => from.has(identity.provider) || texts.has(formatIdentity(identity)),
  };
}
