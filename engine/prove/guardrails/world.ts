// The world in which guardrails are proved: one policy over its own nodes and those that its guardrails name, and what
// is found there, in rows and numbers.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { EngineLimits } from '../../limits.js';
import { type NamespacePath, sortPaths } from '../../model/namespace.js';
import type { PolicyPerson } from '../../model/policy-set.js';
import { makeReach, makeTexts } from '../cells/identity-groups.js';
import { makeRights, namedPaths, type Rights } from '../cells/holdings.js';
import { type Membership, makeMembership } from '../cells/membership.js';
import { makeNodes, type Nodes } from '../cells/nodes.js';
import type { RowRegion } from '../cells/regions.js';
import { makePeople, type People } from './people.js';

export type RowNumbers = readonly number[] | Int32Array;

/** A witness in rows and numbers. */
export interface Sighting {
  /** People by their numbers (`counted.ts`), sorted. */
  readonly identities: RowNumbers;
  readonly region: RowRegion;
  /** More rows where the same is so, sorted. */
  readonly alsoAt?: readonly number[];
  readonly scopes: number;
  readonly from: number;
  readonly until: number;
  readonly grants: readonly number[];
  /** More of the same identities. */
  readonly also?: readonly Sighting[];
}

export interface Finding {
  readonly sightings: readonly Sighting[];
  /** Rows of grants, sorted. */
  readonly repair: readonly number[];
}

/** What every kind of guardrail is checked against. */
export interface World {
  readonly policy: PreparedPolicy;
  readonly limits: EngineLimits;
  readonly nodes: Nodes;
  readonly rights: Rights;
  readonly membership: Membership;
  readonly people: People;
  readonly reach: (principal: number) => Int32Array;
  /** Identities as texts, sorted. */
  readonly texts: (identities: RowNumbers) => readonly string[];
}

export interface WorldOf {
  readonly policy: PreparedPolicy;
  readonly people: readonly PolicyPerson[];
  /** Namespaces that need a row of their own though no grant names them. */
  readonly more: Iterable<NamespacePath>;
  readonly limits: EngineLimits;
}

export function makeWorld({ policy, people, more, limits }: WorldOf): World {
  const nodes = makeNodes(namedPaths(policy), sortPaths(more));
  return {
    policy,
    limits,
    nodes,
    rights: makeRights(policy, nodes),
    membership: makeMembership(policy.tables),
    people: makePeople(policy, people),
    reach: makeReach(policy),
    texts: makeTexts(policy),
  };
}
