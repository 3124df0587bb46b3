// How much an edit of a policy opens: the cells that it gives beyond those held already, counted exactly over everyone
// that it reaches (docs/meaning.md "Cells").
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { NamespacePath } from '../../model/namespace.js';
import { outermost } from '../cells/holdings.js';
import { type CellSpace, countIntervals, countScopes, type Instants, instantsOf } from '../cells/count-cells.js';
import { groupsNear, makeReach } from '../cells/identity-groups.js';
import {
  type Holding,
  holdingsNear,
  makeRights,
  namedPaths,
  type Rights,
  type Rows,
  subtreeRows,
} from '../cells/holdings.js';
import { endOf, makeNodes, nearestRow, rowsAbove } from '../cells/nodes.js';
import { combine, NOTHING, piecesOf, type Timeline } from '../../model/timeline.js';
import { walkRights } from '../cells/walk.js';

/** A policy, and the place in it that somebody asks about. */
export interface Ground {
  readonly policy: PreparedPolicy;
  readonly rights: Rights;
  readonly space: CellSpace;
  /** The identities that are a principal or in it. */
  readonly reach: (principal: number) => Int32Array;
  /** The node that the target is, or is below. */
  readonly near: number;
  readonly isNode: boolean;
}

export function makeGround(policy: PreparedPolicy, target: NamespacePath): Ground {
  const nodes = makeNodes(namedPaths(policy));
  return {
    policy,
    rights: makeRights(policy, nodes),
    space: { nodes, instants: instantsOf([policy.tables]) },
    reach: makeReach(policy),
    near: nearestRow(nodes, target),
    isNode: nodes.rowOf.has(target),
  };
}

/** Cells that everyone who holds a grant gains if it gives this. */
export function openedByGrant({ policy, rights, space, reach }: Ground, given: Holding): bigint {
  const { nodes } = space;
  const rows = given.inherit ? subtreeRows(nodes, given.row) : { from: given.row, until: given.row + 1 };
  const reached = new Set(reach(policy.tables.grants.principal[given.grant] ?? 0));
  const groups = groupsNear(policy, {
    principals: principalsNear(rights, rows, given),
    counts: (identity) => reached.has(identity),
  });
  return groups.reduce(
    (cells, group) =>
      cells +
      BigInt(group.identities.length) *
        openedIn(space, rows, { gives: [given], held: holdingsNear(rights, group.principals, rows) }),
    0n,
  );
}

/** Cells that somebody who is these principals gains by being some others too. */
export function openedByPrincipals(
  { rights, space }: Ground,
  { own, given }: { readonly own: Iterable<number>; readonly given: readonly number[] },
): bigint {
  const changes = given.flatMap((principal) => {
    const { start, rows } = rights.policy.byPrincipal;
    const { inherit } = rights.policy.tables.grants;
    return Array.from(rows.subarray(start[principal] ?? 0, start[principal + 1] ?? 0), (grant) => ({
      row: rights.rowOfGrant[grant] ?? 0,
      inherit: inherit[grant] === 1,
    }));
  });
  return outermost(space.nodes, changes).reduce((cells, rows) => {
    const sides = { gives: holdingsNear(rights, given, rows), held: holdingsNear(rights, own, rows) };
    return cells + openedIn(space, rows, sides);
  }, 0n);
}

/** 1 for the principals with a grant that counts at some of these rows and gives some of the same at the same time. */
function principalsNear(rights: Rights, rows: Rows, given: Holding): Uint8Array {
  const { grants, roles, identities } = rights.policy.tables;
  const above = new Set(rowsAbove(rights.nodes, rows.from));
  const near = new Uint8Array(roles.name.length + identities.subject.length);
  near[grants.principal[given.grant] ?? 0] = 1;
  rights.rowOfGrant.forEach((row, grant) => {
    const counts = (rows.from <= row && row < rows.until) || (above.has(row) && grants.inherit[grant] === 1);
    const isAlike =
      ((grants.scopes[grant] ?? 0) & given.scopes) !== 0 &&
      (grants.notBefore[grant] ?? 0) < given.until &&
      given.from < (grants.expires[grant] ?? 0);
    if (counts && isAlike) near[grants.principal[grant] ?? 0] = 1;
  });
  return near;
}

/** Cells of one identity that are given and were not held: at each node that either side names, and around it. */
function openedIn(
  { nodes, instants }: CellSpace,
  rows: Rows,
  { gives, held }: { gives: readonly Holding[]; held: readonly Holding[] },
): bigint {
  const open: { readonly end: number; readonly below: number; classes: number }[] = [];
  let cells = 0n;
  const close = (until: number): void => {
    for (let last = open.at(-1); last !== undefined && last.end <= until; last = open.at(-1)) {
      cells += BigInt(last.below) * BigInt(last.classes);
      open.pop();
    }
  };
  walkRights({ nodes, rows, sides: [gives, held] }, (row, [givenAt, heldAt], [givenBelow, heldBelow]) => {
    close(row);
    const around = open.at(-1);
    const end = endOf(nodes, row);
    const classes = (nodes.classesBefore[end] ?? 0) - (nodes.classesBefore[row] ?? 0);
    if (around !== undefined) around.classes -= classes;
    cells += BigInt(opensNow(instants, givenAt, heldAt));
    open.push({ end, below: opensNow(instants, givenBelow, heldBelow), classes: classes - 1 });
  });
  close(Infinity);
  return cells;
}

/** Scopes times intervals in one class. */
function opensNow(instants: Instants, given: Timeline = NOTHING, held: Timeline = NOTHING): number {
  const gained = held === NOTHING ? given : combine(given, held, (a, b) => a & ~b);
  return piecesOf(gained).reduce((sum, piece) => sum + countScopes(piece.value) * countIntervals(instants, piece), 0);
}
