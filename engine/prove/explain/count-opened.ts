// How much an edit of a policy opens: the cells that it gives in addition to those already held, counted exactly over everyone whom
// it reaches (docs/meaning.md "Cells").
import { type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { remember } from '../../model/group.js';
import type { NamespacePath } from '../../model/namespace.js';
import { haveCommon, NO_SCOPES } from '../../model/scope-set.js';
import { countPrincipals } from '../../model/tables.js';
import { NOTHING, without } from '../../model/timeline.js';
import { type CellSpace, countCells, instantsOf } from '../cells/count-cells.js';
import { foldRights } from '../cells/fold.js';
import {
  compareHoldings,
  grantsOf,
  type Holding,
  holdingOf,
  holdingsAmong,
  holdingsIn,
  makeRights,
  mergeHoldings,
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

/**
 * The number of cells that somebody with the principals `own` gains by the principals `given`, the nearest first. Many roles may give the
 * same, or something each and the same through a role above them.
 */
export function makeOpening(ground: AskedGround, own: Iterable<number>): (given: readonly number[]) => bigint {
  const { policy, nodes } = ground;
  const holdingsOf = (principals: Iterable<number>): readonly Holding[] =>
    mergeHoldings(
      Array.from(principals).flatMap((principal) =>
        Array.from(grantsOf(policy, principal), (grant) => holdingOf(ground, grant)),
      ),
    );
  const held = holdingsOf(own);
  const lots: (readonly Holding[])[] = [[]];
  const numberOf = new Map([['[]', 0]]);
  /** Principals that give the same have one number; those that give nothing have 0. */
  const lotOf = remember((principal: number) => {
    const lot = holdingsOf([principal]);
    const text = JSON.stringify(lot.map(({ grant: _, ...given }) => given));
    const number = numberOf.get(text) ?? lots.push(lot) - 1;
    numberOf.set(text, number);
    return number;
  });
  const lotsOf = (numbers: readonly number[]): readonly Holding[] => numbers.flatMap((number) => lots[number] ?? []);
  const count = (given: readonly number[], besides: readonly number[]): bigint => {
    const gives = lotsOf(given).toSorted(compareHoldings);
    const places = outermost(nodes, gives);
    const others = besides.flatMap((number) => holdingsAmong(nodes, lots[number] ?? [], places));
    const before = [...holdingsAmong(nodes, held, places), ...others].sort(compareHoldings);
    return countOpened(ground, places, { gives, held: before });
  };
  const known = new Map<string, bigint>();
  return (given) => {
    const [first = 0, ...above] = new Set(given.map(lotOf).filter((number) => number !== 0));
    const key = [first, ...above].join();
    // What the roles above give has mostly been counted.
    const ofAbove = known.get(above.join());
    const cells =
      known.get(key) ?? (ofAbove === undefined ? count([first, ...above], []) : ofAbove + count([first], above));
    known.set(key, cells);
    return cells;
  };
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
