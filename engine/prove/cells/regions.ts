// Regions of the namespace tree, over rows of nodes and as outsiders read them (docs/meaning.md "Cells"), and which grants carry
// something in one.
import { type Instant, instantOf } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { type ScopeName, SCOPES } from '../../model/scope.js';
import { firstAt, type Holding } from './holdings.js';
import { endOf, type Nodes, pathAt, rowsAbove } from './nodes.js';

/** `exact`: the namespace alone; `below`: everything below it, without it; `subtree`: both. */
export type Extent = 'exact' | 'subtree' | 'below';

/** A region over rows of nodes. */
export interface RowRegion {
  readonly row: number;
  readonly extent: Extent;
  /** Rows of the subtrees that are left out, in path order; none of them lies in another. */
  readonly except: readonly number[];
}

/** A region as outsiders read it (docs/meaning.md "Cells"). */
export interface Region {
  readonly namespace: NamespacePath;
  readonly extent: Extent;
  readonly except?: readonly NamespacePath[];
}

export function toRegion(nodes: Nodes, { row, extent, except }: RowRegion): Region {
  const region = { namespace: pathAt(nodes, row), extent };
  return except.length === 0 ? region : { ...region, except: except.map((left) => pathAt(nodes, left)) };
}

const EXTENT_ORDER: ReadonlyMap<Extent, number> = new Map<Extent, number>([
  ['subtree', 0],
  ['exact', 1],
  ['below', 2],
]);

/** The subtree first, then the namespace alone, then what is below it. */
export function compareExtents(a: Extent, b: Extent): number {
  return (EXTENT_ORDER.get(a) ?? 0) - (EXTENT_ORDER.get(b) ?? 0);
}

/** Those of the holdings (sorted by node) that give any of the scopes somewhere in a region and a stretch of time. */
export function carriers(
  nodes: Nodes,
  holdings: readonly Holding[],
  place: { readonly region: RowRegion; readonly from: number; readonly until: number; readonly value: number },
): readonly Holding[] {
  const { row, extent, except } = place.region;
  const end = extent === 'exact' ? row + 1 : endOf(nodes, row);
  const found: Holding[] = [];
  const take = (holding: Holding): void => {
    const overlaps = holding.from < place.until && place.from < holding.until && holding.from < holding.until;
    if (overlaps && (holding.scopes & place.value) !== 0) found.push(holding);
  };
  for (const above of rowsAbove(nodes, row)) {
    for (let i = firstAt(holdings, above); holdings[i]?.row === above; i += 1) {
      const holding = holdings[i];
      if (holding?.inherit === true) take(holding);
    }
  }
  // What is left out is in path order, as the holdings are: both are passed over once, and what lies inside is skipped.
  let passed = 0;
  for (let i = firstAt(holdings, row); i < holdings.length;) {
    const holding = holdings[i];
    if (holding === undefined || holding.row >= end) break;
    let left = except[passed];
    for (; left !== undefined && endOf(nodes, left) <= holding.row; left = except[passed]) passed += 1;
    if (left !== undefined && left <= holding.row) {
      i = firstAt(holdings, endOf(nodes, left));
      continue;
    }
    if (holding.row !== row || extent !== 'below' || holding.inherit) take(holding);
    i += 1;
  }
  return found;
}

/** Scopes of bits, in the order of code points. */
export function scopesOf(bits: number): readonly ScopeName[] {
  return SCOPES.filter((_, bit) => (bits & (1 << bit)) !== 0).sort();
}

export function openOr(instant: number): Instant | null {
  return Number.isFinite(instant) ? instantOf(instant) : null;
}
