// Regions of the namespace tree, over rows of nodes and as reports show them (docs/meaning.md "Cells"). A patch is a set of scopes that
// stays the same throughout a region and an interval.
import { type Instant, instantOf } from '../../model/instant.js';
import type { NamespacePath } from '../../model/namespace.js';
import { compareNumbers } from '../../model/order.js';
import type { ScopeName } from '../../model/scope.js';
import { compareScopeSets, RECORD_SCOPE_SET, scopeNames, type ScopeSet } from '../../model/scope-set.js';
import { type Nodes, pathAt } from './nodes.js';

/** `exact`: only the namespace; `below`: everything below it, without the namespace; `subtree`: both. */
export type Extent = 'exact' | 'subtree' | 'below';

/** A region over rows of nodes. */
export interface RowRegion {
  readonly row: number;
  readonly extent: Extent;
  /** Rows of the subtrees that are left out, in path order. None is inside another. */
  readonly except: readonly number[];
}

/** A set of scopes throughout a region and an interval. */
export interface CellPatch {
  readonly region: RowRegion;
  readonly from: number;
  readonly until: number;
  readonly scopes: ScopeSet;
}

/** A region as reports show it (docs/meaning.md "Cells"). */
export interface Region {
  readonly namespace: NamespacePath;
  readonly extent: Extent;
  readonly except?: readonly NamespacePath[];
}

export function toRegion(nodes: Nodes, { row, extent, except }: RowRegion): Region {
  const region = { namespace: pathAt(nodes, row), extent };
  return except.length === 0 ? region : { ...region, except: except.map((left) => pathAt(nodes, left)) };
}

/** The scopes and the interval of a patch as reports show them. */
export interface ScopesThen {
  readonly scopes: readonly ScopeName[];
  /** Null means open. */
  readonly from: Instant | null;
  readonly until: Instant | null;
}

export function toScopesThen({ scopes, from, until }: Omit<CellPatch, 'region'>): ScopesThen {
  return { scopes: scopeNames(scopes), from: openOr(from), until: openOr(until) };
}

export function openOr(instant: number): Instant | null {
  return Number.isFinite(instant) ? instantOf(instant) : null;
}

/** The subtree first, then the namespace alone, then what is below it. */
const EXTENTS: readonly Extent[] = ['subtree', 'exact', 'below'];

/** Compares in path order, then by time. */
export function comparePatches(a: CellPatch, b: CellPatch): number {
  return (
    a.region.row - b.region.row ||
    EXTENTS.indexOf(a.region.extent) - EXTENTS.indexOf(b.region.extent) ||
    compareNumbers(a.from, b.from) ||
    compareNumbers(a.until, b.until) ||
    compareScopeSets(a.scopes, b.scopes)
  );
}

/** Most patches are entire regions for all time. Their key is a number, because building strings would take most of the time. */
export type PlaceKey = number | string;

/** A key that two patches share if and only if their region and interval are the same. */
export function placeKey({ region: { row, extent, except }, from, until }: CellPatch): PlaceKey {
  const place = row * EXTENTS.length + EXTENTS.indexOf(extent);
  if (except.length === 0 && from === -Infinity && until === Infinity) return place;
  return `${String(place)} ${except.join()} ${String(from)} ${String(until)}`;
}

/** A key that two patches share if and only if their region, interval and scopes are the same. */
export function patchKey(patch: CellPatch): PlaceKey {
  const place = placeKey(patch);
  const { scopes } = patch;
  return typeof place === 'number' && typeof scopes === 'number'
    ? place * (RECORD_SCOPE_SET + 1) + scopes
    : `${String(place)} ${String(scopes)}`;
}
