// Which grants matter to whom near a place: the grants of a set of principals that count in one subtree, those inherited
// from above included. Everything here is rows and numbers of one loaded policy over one list of nodes.
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import type { NamespacePath } from '../../model/namespace.js';
import { firstFrom } from '../../model/row-lists.js';
import { endOf, type Nodes, rowsAbove } from './nodes.js';

/** What a grant contributes to rights: which scopes, from which node down, and when. */
export interface Holding {
  /** The row of the grant in its policy; -1 for a hypothetical grant. */
  readonly grant: number;
  /** Row of the node. */
  readonly row: number;
  readonly inherit: boolean;
  readonly scopes: number;
  readonly from: number;
  readonly until: number;
}

/** A run of node rows, the end exclusive. */
export interface Rows {
  readonly from: number;
  readonly until: number;
}

/** One policy over a list of nodes that has all of the policy's own among its rows. */
export interface Rights {
  readonly policy: PreparedPolicy;
  readonly nodes: Nodes;
  /** The node of each grant. */
  readonly rowOfGrant: Int32Array;
}

/** The namespaces that grants name, in path order. */
export function namedPaths(policy: PreparedPolicy): readonly NamespacePath[] {
  const named = new Uint8Array(policy.paths.length);
  for (const row of policy.tables.grants.namespace) named[row] = 1;
  return policy.paths.filter((_, row) => named[row] === 1);
}

export function makeRights(policy: PreparedPolicy, nodes: Nodes): Rights {
  const nodeOf = Int32Array.from(policy.paths, (path) => nodes.rowOf.get(path) ?? -1);
  return { policy, nodes, rowOfGrant: policy.tables.grants.namespace.map((row) => nodeOf[row] ?? 0) };
}

export function holdingOf({ policy, rowOfGrant }: Rights, grant: number): Holding {
  const { grants } = policy.tables;
  return {
    grant,
    row: rowOfGrant[grant] ?? 0,
    inherit: grants.inherit[grant] === 1,
    scopes: grants.scopes[grant] ?? 0,
    from: grants.notBefore[grant] ?? 0,
    until: grants.expires[grant] ?? 0,
  };
}

/** A node and everything below it. */
export function subtreeRows(nodes: Nodes, row: number): Rows {
  return { from: row, until: endOf(nodes, row) };
}

/**
 * The grants of these principals that count at some of these rows, a node with or without its subtree: bound there, or
 * inherited from above. Sorted by node, then grant.
 */
export function holdingsNear(rights: Rights, principals: Iterable<number>, rows: Rows): readonly Holding[] {
  const above = rowsAbove(rights.nodes, rows.from);
  const found: Holding[] = [];
  for (const principal of principals) {
    for (const grant of grantsBetween(rights, principal, rows)) found.push(holdingOf(rights, grant));
    for (const row of above) {
      for (const grant of grantsBetween(rights, principal, { from: row, until: row + 1 })) {
        if (rights.policy.tables.grants.inherit[grant] === 1) found.push(holdingOf(rights, grant));
      }
    }
  }
  return found.sort((a, b) => a.row - b.row || a.grant - b.grant);
}

const NO_GRANTS = new Int32Array(0);

/** The grants of a principal at the nodes of a run of rows: those of one principal are sorted by namespace. */
export function grantsBetween(rights: Rights, principal: number, wanted: Rows): Int32Array {
  const { start, rows: grants } = rights.policy.byPrincipal;
  const first = start[principal] ?? 0;
  const last = start[principal + 1] ?? 0;
  const position = (row: number): number =>
    first + firstFrom(last - first, (i) => (rights.rowOfGrant[grants[first + i] ?? 0] ?? 0) >= row);
  if (first === last) return NO_GRANTS;
  return grants.subarray(position(wanted.from), position(wanted.until));
}

export function grantsOf(rights: Rights, principal: number): Int32Array {
  const { start, rows } = rights.policy.byPrincipal;
  return rows.subarray(start[principal] ?? 0, start[principal + 1] ?? 0);
}

/** The index of the first holding at a row or after it; holdings are sorted by node. */
export function firstAt(holdings: readonly Holding[], row: number): number {
  return firstFrom(holdings.length, (i) => (holdings[i]?.row ?? Infinity) >= row);
}

/** Where a grant that one of the policies has not counts. */
export interface Change {
  readonly row: number;
  readonly inherit: boolean;
}

/** The runs of rows of these changes, without those that lie in others. */
export function outermost(nodes: Nodes, changes: readonly Change[]): readonly Rows[] {
  // A subtree sorts before its node alone.
  const sorted = Float64Array.from(changes, ({ row, inherit }) => 2 * row + (inherit ? 0 : 1)).sort();
  const places: Rows[] = [];
  let covered = 0;
  for (const change of sorted) {
    const row = Math.floor(change / 2);
    if (row < covered) continue;
    const place = change % 2 === 0 ? subtreeRows(nodes, row) : { from: row, until: row + 1 };
    places.push(place);
    covered = place.until;
  }
  return places;
}

/** Sorted by node, then grant. */
type PlaceHoldings = (principals: Iterable<number>, places: readonly Rows[]) => readonly Holding[];

/** A binary search costs about as much as reading this many grants in a row. */
const SEARCH = 16;

/**
 * `holdingsNear` for several places at once, which are disjoint and in path order: the grants of each principal are read
 * once, or searched where there are many more of them than of places. What is read of a grant is remembered.
 */
export function makePlaceHoldings(rights: Rights): PlaceHoldings {
  const known: Holding[] = [];
  const holding = (grant: number): Holding => (known[grant] ??= holdingOf(rights, grant));
  const rowAt = (grants: Int32Array, i: number): number => rights.rowOfGrant[grants[i] ?? -1] ?? Infinity;
  const firstAtRow = (grants: Int32Array, row: number): number =>
    firstFrom(grants.length, (i) => rowAt(grants, i) >= row);
  // One that is above a place can be in another.
  const isIn = (places: readonly Rows[], row: number): boolean =>
    (places[firstFrom(places.length, (i) => (places[i]?.until ?? Infinity) > row)]?.from ?? Infinity) <= row;
  // The number of the question in which a row was found to be above a place.
  const aboveIn = new Int32Array(rights.nodes.paths.length);
  let question = 0;

  /** The rows above places, in path order. */
  const rowsAbove = (places: readonly Rows[]): Int32Array => {
    question += 1;
    const above: number[] = [];
    for (const { from } of places) {
      let row = rights.nodes.parent[from] ?? -1;
      for (; row >= 0 && aboveIn[row] !== question; row = rights.nodes.parent[row] ?? -1) {
        aboveIn[row] = question;
        above.push(row);
      }
    }
    return Int32Array.from(above).sort();
  };

  return (principals, places) => {
    const above = rowsAbove(places);
    const found: Holding[] = [];
    for (const principal of principals) {
      const grants = grantsOf(rights, principal);
      if (grants.length > (places.length + above.length) * SEARCH) {
        for (const { from, until } of places) {
          for (let i = firstAtRow(grants, from); rowAt(grants, i) < until; i += 1) found.push(holding(grants[i] ?? 0));
        }
        for (const row of above) {
          if (isIn(places, row)) continue;
          for (let i = firstAtRow(grants, row); rowAt(grants, i) === row; i += 1)
            if (holding(grants[i] ?? 0).inherit) found.push(holding(grants[i] ?? 0));
        }
        continue;
      }
      let place = 0;
      for (const grant of grants) {
        const row = rights.rowOfGrant[grant] ?? 0;
        while ((places[place]?.until ?? Infinity) <= row) place += 1;
        const inside = (places[place]?.from ?? Infinity) <= row;
        if (inside || (aboveIn[row] === question && holding(grant).inherit)) found.push(holding(grant));
      }
    }
    return found.sort((a, b) => a.row - b.row || a.grant - b.grant);
  };
}
