// How much an edit of a policy opens: the cells that it gives in addition to those already held, counted exactly over everyone whom
// it reaches (docs/meaning.md "Cells").
import { type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { NamespacePath } from '../../model/namespace.js';
import { haveCommon, NO_SCOPES } from '../../model/scope-set.js';
import { countPrincipals } from '../../model/tables.js';
import { NOTHING, without } from '../../model/timeline.js';
import { type CellSpace, countCells, instantsOf } from '../cells/count-cells.js';
import { foldRights } from '../cells/fold.js';
import {
  grantsOf,
  type Holding,
  holdingOf,
  holdingsIn,
  makeRights,
  namedPaths,
  type NodeRights,
  outermost,
  reachOf,
  type RowRange,
} from '../cells/holdings.js';
import { groupsNear, makeReach } from '../cells/identities.js';
import { makeNodes, nearestRow, rowsAbove } from '../cells/nodes.js';

/** A policy, and the place in it that the question is about. */
export interface AskedGround extends NodeRights, CellSpace {
  readonly handle: Policy;
  readonly policy: PreparedPolicy;
  /** The identities that are a principal or are in it. */
  readonly reach: (principal: number) => Int32Array;
  /** The target's node, or the nearest node above it. */
  readonly near: number;
  readonly isNode: boolean;
}

export function makeGround(handle: Policy, policy: PreparedPolicy, target: NamespacePath): AskedGround {
  const nodes = makeNodes(namedPaths(policy));
  return {
    handle,
    ...makeRights(policy, nodes),
    instants: instantsOf([policy.tables]),
    scopes: policy.tables.vocabulary.scopes.length,
    reach: makeReach(policy),
    near: nearestRow(nodes, target),
    isNode: nodes.rowOf.has(target),
  };
}

/** The number of cells that all holders of a grant gain together if it gives this. */
export function openedByGrant(ground: AskedGround, given: Holding): bigint {
  const { policy, nodes, reach } = ground;
  const places = [reachOf(nodes, given)];
  const reached = reach(policy.tables.grants.principal[given.grant] ?? 0);
  const parties = Array.from(reached, (row) => ({ row, identities: [row] }));
  return groupsNear(policy, principalsNear(ground, given), parties).reduce((cells, group) => {
    const held = holdingsIn(ground, group.principals, places);
    return cells + BigInt(group.parties.length) * countOpened(ground, places, { gives: [given], held });
  }, 0n);
}

/** The number of cells that somebody with the principals `own` gains by the principals `given`. */
export function openedByPrincipals(
  ground: AskedGround,
  { own, given }: { readonly own: Iterable<number>; readonly given: readonly number[] },
): bigint {
  const { policy, nodes } = ground;
  const changes = given.flatMap((principal) =>
    Array.from(grantsOf(policy, principal), (grant) => holdingOf(ground, grant)),
  );
  const places = outermost(nodes, changes);
  const sides = { gives: holdingsIn(ground, given, places), held: holdingsIn(ground, own, places) };
  return countOpened(ground, places, sides);
}

/** 1 for each principal with a grant that overlaps this one in place, scopes and time. */
function principalsNear({ policy, nodes, rowOfGrant }: AskedGround, given: Holding): Uint8Array {
  const { grants } = policy.tables;
  const { from, until } = reachOf(nodes, given);
  const above = new Set(rowsAbove(nodes, from));
  const near = new Uint8Array(countPrincipals(policy.tables));
  near[grants.principal[given.grant] ?? 0] = 1;
  rowOfGrant.forEach((row, grant) => {
    const counts = (from <= row && row < until) || (above.has(row) && grants.inherit[grant] === 1);
    const isAlike =
      haveCommon(grants.scopes[grant] ?? NO_SCOPES, given.scopes) &&
      (grants.notBefore[grant] ?? 0) < given.until &&
      given.from < (grants.expires[grant] ?? 0);
    if (counts && isAlike) near[grants.principal[grant] ?? 0] = 1;
  });
  return near;
}

/** The number of cells of one identity that are given and were not held. */
function countOpened(
  ground: AskedGround,
  places: readonly RowRange[],
  { gives, held }: { readonly gives: readonly Holding[]; readonly held: readonly Holding[] },
): bigint {
  const walk = { nodes: ground.nodes, places, sides: [gives, held] };
  return countCells(
    ground,
    foldRights(walk, 'all', ([given = NOTHING, before = NOTHING]) => without(given, before)),
  );
}
