// What a guardrail is proved against and what a proof finds, in rows and numbers: one policy over its own nodes and those that its
// guardrails name, and the people whom one guardrail applies to.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { EngineLimits } from '../../limits.js';
import { addTo, groupBy, remember, rememberLast } from '../../model/group.js';
import type { Identity } from '../../model/identity.js';
import { invariant } from '../../model/invariant.js';
import { type NamespacePath, sortPaths } from '../../model/namespace.js';
import { compareLists } from '../../model/order.js';
import type { GuardrailRule, PolicyPerson } from '../../model/policy-set.js';
import { unionOfRows } from '../../model/row-lists.js';
import { makeRights, namedPaths, type NodeRights } from '../cells/holdings.js';
import { identityRow, makeReach } from '../cells/identities.js';
import { makeMembership, type Membership } from '../cells/membership.js';
import { makeNodes, type Nodes } from '../cells/nodes.js';
import { type CellPatch, patchKey } from '../cells/regions.js';
import { type Actors, type Human, makeActors, providerOfGroup } from './actors.js';
import type { Counted } from './counted.js';
import type { ProofBounds, ProofBudget } from './proof-budget.js';
import type { Beside } from './speech.js';
import { identityAt, statedTables } from '../../model/tables.js';

export type RuleOf<Kind extends GuardrailRule['kind']> = Extract<GuardrailRule, { readonly kind: Kind }>;

export type RowNumbers = readonly number[] | Int32Array;

/** A witness in rows and numbers. */
export interface Sighting extends CellPatch {
  /** By their numbers (`counted.ts`), sorted. */
  readonly people: RowNumbers;
  /** What an actor of theirs carries besides: groups, or another identity of the person. Absent if it is yet to be found. */
  readonly beside?: Beside;
  /** More rows where the same holds, sorted. */
  readonly alsoAt?: readonly number[];
  readonly grants: RowNumbers;
  /** More sightings of the same people. */
  readonly also?: readonly Sighting[];
}

export interface GuardrailFinding {
  readonly sightings: readonly Sighting[];
  /** Rows of grants, sorted. */
  readonly repair: readonly number[];
}

/** What every guardrail of a policy is proved against. */
export interface World extends NodeRights {
  readonly policy: PreparedPolicy;
  readonly limits: EngineLimits;
  readonly membership: Membership;
  /** With the memberships that have a window. */
  readonly everMembership: Membership;
  /** By name. */
  readonly roleRows: ReadonlyMap<string, number>;
  readonly people: People;
  readonly actors: Actors;
  /** Counts steps of a proof. Throws `TooManySteps` beyond the limit. */
  readonly spend: ProofBudget['spend'];
  /** The identities that are a principal or are in it. */
  readonly reach: (principal: number) => Int32Array;
}

/** A world, with the people who count for one guardrail. */
export interface Scene extends World {
  readonly counted: Counted;
}

export interface WorldOf extends ProofBounds {
  readonly policy: PreparedPolicy;
  readonly people: readonly PolicyPerson[];
  /** Lists of identities of which no actor carries two. */
  readonly exclusive: readonly (readonly Identity[])[];
  /** Namespaces that need a row of their own even if no grant names them. */
  readonly more: readonly NamespacePath[];
}

export function makeWorld({ policy, people, exclusive, more, limits, budget }: WorldOf): World {
  const stated = statedTables(policy.tables);
  const membership = makeMembership(policy.tables);
  return {
    ...makeRights(policy, nodesOf(namedPaths(policy))(more)),
    limits,
    membership,
    everMembership: stated === policy.tables ? membership : makeMembership(stated),
    roleRows: new Map(policy.tables.roles.name.map((name, row) => [name, row])),
    people: makePeople(policy, people),
    actors: makeActors(exclusive, budget.spend),
    spend: budget.spend,
    reach: makeReach(policy),
  };
}

/** The nodes of these paths and of more. Those for the last list of more are kept. */
const nodesOf = rememberLast((named: readonly NamespacePath[]) => {
  let last: { readonly more: readonly NamespacePath[]; readonly nodes: Nodes } | null = null;
  return (more: readonly NamespacePath[]): Nodes => {
    if (last === null || compareLists(last.more, more) !== 0) last = { more, nodes: makeNodes(named, sortPaths(more)) };
    return last.nodes;
  };
});

/** Returns one shared object for all lists with the same rows, so that each distinct list is processed once. */
export function makeInterning(): (rows: RowNumbers) => RowNumbers {
  const byContent = new Map<string, RowNumbers>();
  return remember((rows) => {
    const content = rows.join();
    const first = byContent.get(content) ?? rows;
    byContent.set(content, first);
    return first;
  });
}

/** Joins sightings with the same place, time, scopes and key. */
export function joinSightings(
  sightings: readonly Sighting[],
  keyOf: (sighting: Sighting) => unknown,
): readonly Sighting[] {
  const places = groupBy(sightings, (sighting) => {
    const { alsoAt = [], beside = [] } = sighting;
    const isPlain = alsoAt.length === 0 && beside.length === 0;
    return isPlain ? patchKey(sighting) : `${String(patchKey(sighting))} ${alsoAt.join()} ${beside.join()}`;
  });
  return [...places.values()].flatMap((alike) =>
    alike.length === 1 ? alike : [...groupBy(alike, keyOf).values()].map(joined),
  );
}

function joined(alike: readonly Sighting[]): Sighting {
  const [first, ...more] = alike;
  invariant(first !== undefined, 'a group has a member');
  if (more.length === 0) return first;
  return {
    ...first,
    people: union(alike.map(({ people }) => people)),
    grants: union(alike.map(({ grants }) => grants)),
  };
}

function union(lists: readonly RowNumbers[]): RowNumbers {
  const [first = [], ...more] = lists;
  return more.every((list) => list === first) ? first : unionOfRows(lists);
}

// The people and groups of a policy. An identity that `people` does not name is a person of its own; a group is nobody's.

/** A human whom `people` names. */
interface Person extends Human {
  readonly name: string;
  /** The sorted rows of the identities, without groups, that the policy grants something or has in a role. */
  readonly rows: Int32Array;
  /** Identities that the policy names only in `people`. They hold nothing, but a guardrail may name them. */
  readonly others: readonly Identity[];
}

interface People {
  readonly named: readonly Person[];
  /** How many identities these have together. */
  readonly identities: number;
  /** The named person of an identity row. */
  readonly ofIdentity: ReadonlyMap<number, Person>;
  /** Every identity that `people` names belongs to somebody, also those without a row. */
  readonly identityOf: (row: number) => Identity;
  readonly isGroup: (row: number) => boolean;
  /** By provider, the rows of its groups. */
  readonly groupsOf: ReadonlyMap<string, readonly number[]>;
}

function makePeople(policy: PreparedPolicy, declared: readonly PolicyPerson[]): People {
  const { tables } = policy;
  const named = declared.map(({ name, identities }): Person => {
    const own = identities.filter(({ provider }) => providerOfGroup(provider) === null);
    const rows = own.map((identity) => identityRow(policy, identity));
    return {
      name,
      own,
      // Somebody who is known by a group has signed in there.
      strange: identities.flatMap(({ provider }) => providerOfGroup(provider) ?? []),
      rows: Int32Array.from(rows.filter((row) => row !== undefined)).sort(),
      others: own.filter((_, i) => rows[i] === undefined),
    };
  });
  const claimedBy = tables.providers.map(providerOfGroup);
  const groupsOf = new Map<string, number[]>();
  if (claimedBy.some((provider) => provider !== null)) {
    tables.identities.provider.forEach((provider, row) => {
      const claims = claimedBy[provider] ?? null;
      if (claims !== null) addTo(groupsOf, claims, row);
    });
  }
  return {
    named,
    identities: declared.reduce((sum, { identities }) => sum + identities.length, 0),
    ofIdentity: new Map(named.flatMap((person) => Array.from(person.rows, (row) => [row, person]))),
    identityOf: remember((row: number) => identityAt(tables, row)),
    isGroup: (row) => (claimedBy[tables.identities.provider[row] ?? -1] ?? null) !== null,
    groupsOf,
  };
}
