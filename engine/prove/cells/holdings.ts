// Which grants matter near a place: the grants of a set of principals that count there, including those inherited from above.
// Everything here is rows and numbers of one loaded policy over one list of nodes.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { Instant } from '../../model/instant.js';
import { groupBy, rememberLast } from '../../model/group.js';
import type { NamespacePath } from '../../model/namespace.js';
import { rowsOf } from '../../model/row-lists.js';
import { haveCommon, NO_SCOPES, type ScopeSet } from '../../model/scope-set.js';
import { endOf, type Nodes, rowsAbove } from './nodes.js';
import type { CellPatch, RowRegion } from './regions.js';
import { countPrincipals } from '../../model/tables.js';
import { piecesOf, unionOf } from '../../model/timeline.js';

/** What a grant contributes to rights: which scopes, from which node down, and when. */
export interface Holding {
  /** The row of the grant in its policy. */
  readonly grant: number;
  /** Row of the node. */
  readonly row: number;
  readonly inherit: boolean;
  readonly scopes: ScopeSet;
  readonly from: number;
  readonly until: number;
}

/** A policy as rows, without the index that finds identities by text. */
export type UnindexedPolicy = Omit<PreparedPolicy, 'identityRows'>;

/** One policy over a list of nodes that contains all nodes of the policy. */
export interface NodeRights {
  readonly policy: UnindexedPolicy;
  readonly nodes: Nodes;
  /** The node of each grant. */
  readonly rowOfGrant: Int32Array;
}

/** The namespaces that grants name, in path order. */
export function namedPaths({ tables, paths }: UnindexedPolicy): readonly NamespacePath[] {
  return pathsAt(tables.grants.namespace, paths);
}

const pathsAt = rememberLast((rows: Int32Array, paths: readonly NamespacePath[]): readonly NamespacePath[] => {
  const named = new Uint8Array(paths.length);
  for (const row of rows) named[row] = 1;
  return paths.filter((_, row) => named[row] === 1);
});

export function makeRights<P extends UnindexedPolicy>(policy: P, nodes: Nodes): NodeRights & { readonly policy: P } {
  return { policy, nodes, rowOfGrant: nodesAt(policy.tables.grants.namespace, policy.paths, nodes) };
}

const nodesAt = rememberLast((rows: Int32Array, paths: readonly NamespacePath[], { rowOf }: Nodes): Int32Array => {
  const nodeOf = Int32Array.from(paths, (path) => rowOf.get(path) ?? -1);
  return rows.map((row) => nodeOf[row] ?? 0);
});

export function holdingOf({ policy, rowOfGrant }: NodeRights, grant: number): Holding {
  const { grants } = policy.tables;
  return {
    grant,
    row: rowOfGrant[grant] ?? 0,
    inherit: grants.inherit[grant] === 1,
    scopes: grants.scopes[grant] ?? NO_SCOPES,
    from: grants.notBefore[grant] ?? 0,
    until: grants.expires[grant] ?? 0,
  };
}

/** Compares by node, then grant. All lists of holdings have this order. */
export function compareHoldings(a: Holding, b: Holding): number {
  return a.row - b.row || a.grant - b.grant;
}

/** The grants of a principal, sorted by namespace. */
export function grantsOf({ byPrincipal }: UnindexedPolicy, principal: number): Int32Array {
  return rowsOf(byPrincipal, principal);
}

/** A range of rows, with an exclusive end. */
export interface RowRange {
  readonly from: number;
  readonly until: number;
}

/** The rows in which something that is bound to a node counts. */
export function reachOf(nodes: Nodes, { row, inherit }: Pick<Holding, 'row' | 'inherit'>): RowRange {
  return { from: row, until: inherit ? endOf(nodes, row) : row + 1 };
}

/** The rows in which these holdings count, without those inside others: disjoint, in path order. */
export function outermost(nodes: Nodes, holdings: readonly Holding[]): readonly RowRange[] {
  // A node with its subtree sorts before the node alone.
  const sorted = Float64Array.from(holdings, ({ row, inherit }) => 2 * row + (inherit ? 0 : 1)).sort();
  const places: RowRange[] = [];
  let covered = 0;
  for (const place of sorted) {
    const row = Math.floor(place / 2);
    if (row < covered) continue;
    const rows = reachOf(nodes, { row, inherit: place % 2 === 0 });
    places.push(rows);
    covered = rows.until;
  }
  return places;
}

/** Rows where something counts, or only what is inherited from them. */
interface Run extends RowRange {
  readonly inheritedOnly?: boolean;
}

/**
 * The grants of these principals that count in any of these places: bound there, or inherited from above. The places must be disjoint
 * and in path order.
 */
export function holdingsIn(
  rights: NodeRights,
  principals: Iterable<number>,
  places: readonly RowRange[],
): readonly Holding[] {
  const runs = withAbove(rights.nodes, places);
  const found: Holding[] = [];
  for (const principal of principals) {
    const grants = grantsOf(rights.policy, principal);
    const rowAt = (i: number): number => rights.rowOfGrant[grants[i] ?? -1] ?? 0;
    eachIn(runs, { count: grants.length, rowAt }, (i, { inheritedOnly }) => {
      const grant = grants[i] ?? 0;
      if (inheritedOnly !== true || rights.policy.tables.grants.inherit[grant] === 1)
        found.push(holdingOf(rights, grant));
    });
  }
  return found.sort(compareHoldings);
}

/** Of sorted holdings, those that count in any of these places. */
export function holdingsAmong(
  nodes: Nodes,
  holdings: readonly Holding[],
  places: readonly RowRange[],
): readonly Holding[] {
  const found: Holding[] = [];
  const sorted = { count: holdings.length, rowAt: (i: number): number => holdings[i]?.row ?? 0 };
  eachIn(withAbove(nodes, places), sorted, (i, { inheritedOnly }) => {
    const holding = holdings[i];
    if (holding !== undefined && (inheritedOnly !== true || holding.inherit)) found.push(holding);
  });
  return found;
}

/** The same rights in as few holdings as there are changes, sorted. Each has the row of one of its grants. */
export function mergeHoldings(holdings: readonly Holding[]): readonly Holding[] {
  const alike = groupBy(holdings, ({ row, inherit }) => 2 * row + (inherit ? 0 : 1));
  return [...alike.values()]
    .flatMap((same) =>
      same
        .slice(0, 1)
        .flatMap((first) =>
          piecesOf(unionOf(same.map(({ scopes, ...window }) => ({ ...window, value: scopes })))).map(
            ({ from, until, value }) => ({ ...first, from, until, scopes: value }),
          ),
        ),
    )
    .sort(compareHoldings);
}

function withAbove({ parent }: Nodes, places: readonly RowRange[]): readonly Run[] {
  const known = new Set(places.map(({ from }) => from));
  const runs: Run[] = [...places];
  for (const { from } of places) {
    // Rows above a known row are known or will be, since that row is a place or above one.
    for (let row = parent[from] ?? -1; row >= 0 && !known.has(row); row = parent[row] ?? -1) {
      known.add(row);
      runs.push({ from: row, until: row + 1, inheritedOnly: true });
    }
  }
  return runs.sort((a, b) => a.from - b.from);
}

/** The holdings that give any of the patch's scopes somewhere in its region and interval. `holdings` must be sorted. */
export function carriers(nodes: Nodes, holdings: readonly Holding[], patch: CellPatch): readonly Holding[] {
  const found: Holding[] = [];
  const sorted = { count: holdings.length, rowAt: (i: number): number => holdings[i]?.row ?? 0 };
  eachIn(runsOf(nodes, patch.region), sorted, (i, { inheritedOnly }) => {
    const holding = holdings[i];
    if (holding === undefined || (inheritedOnly === true && !holding.inherit)) return;
    const isThen = holding.from < patch.until && patch.from < holding.until && holding.from < holding.until;
    if (isThen && haveCommon(holding.scopes, patch.scopes)) found.push(holding);
  });
  return found;
}

/** The sorted rows of the grants that carry a patch. */
export function carryingGrants(nodes: Nodes, holdings: readonly Holding[], patch: CellPatch): number[] {
  return carriers(nodes, holdings, patch)
    .map(({ grant }) => grant)
    .sort((a, b) => a - b);
}

/** Those that are in force at an instant, as if they were at all times. */
export function heldAt(holdings: readonly Holding[], at: Instant): readonly Holding[] {
  return holdings
    .filter(({ from, until }) => from <= at && at < until)
    .map((holding) => ({ ...holding, from: -Infinity, until: Infinity }));
}

/** The rows of a region, and the rows above it. */
function runsOf(nodes: Nodes, { row, extent, except }: RowRegion): readonly Run[] {
  const runs: Run[] = rowsAbove(nodes, row).map((from) => ({ from, until: from + 1, inheritedOnly: true }));
  runs.reverse().push({ from: row, until: row + 1, inheritedOnly: extent === 'below' });
  if (extent === 'exact') return runs;
  let from = row + 1;
  for (const left of except) {
    runs.push({ from, until: left });
    from = endOf(nodes, left);
  }
  runs.push({ from, until: endOf(nodes, row) });
  return runs;
}

/** Things in the order of their rows. */
interface ByRow {
  readonly count: number;
  readonly rowAt: (i: number) => number;
}

/** Visits the things in the runs. Whichever of the two lists is behind catches up by a search. */
function eachIn(runs: readonly Run[], things: ByRow, visit: (i: number, run: Run) => void): void {
  const lasts = { count: runs.length, rowAt: (i: number): number => (runs[i]?.until ?? 0) - 1 };
  for (let i = 0, next = 0; i < things.count;) {
    const run = runs[next];
    if (run === undefined) return;
    const row = things.rowAt(i);
    if (row < run.from) i = seek(things, i, run.from);
    else if (row >= run.until) next = seek(lasts, next, row);
    else {
      visit(i, run);
      i += 1;
    }
  }
}

/** The first thing after `before` that has reached a row. The steps double, since most results are near. */
function seek({ count, rowAt }: ByRow, before: number, row: number): number {
  let low = before;
  let step = 1;
  for (; low + step < count && rowAt(low + step) < row; step *= 2) low += step;
  for (step /= 2; step >= 1; step /= 2) if (low + step < count && rowAt(low + step) < row) low += step;
  return low + 1;
}

// Who has grants that count near some places: only their rights can differ there.

/** 1 for each principal that has any of these grants (1 for each). */
export function principalsOfGrants({ tables }: UnindexedPolicy, grants: Uint8Array): Uint8Array {
  const found = new Uint8Array(countPrincipals(tables));
  grants.forEach((one, grant) => {
    if (one === 1) found[tables.grants.principal[grant] ?? 0] = 1;
  });
  return found;
}

/** 1 for each row in the places or above one of them. */
export function rowsNear({ parent, paths }: Nodes, places: readonly RowRange[]): Uint8Array {
  const marked = new Uint8Array(paths.length);
  for (const { from, until } of places) {
    marked.fill(1, from, until);
    for (let row = parent[from] ?? -1; row >= 0 && marked[row] === 0; row = parent[row] ?? -1) marked[row] = 1;
  }
  return marked;
}

/** 1 for each principal with a grant in any of the rows (1 for each). */
export function principalsNear({ policy, rowOfGrant }: NodeRights, rows: Uint8Array): Uint8Array {
  return principalsOfGrants(
    policy,
    Uint8Array.from(rowOfGrant, (row) => rows[row] ?? 0),
  );
}
