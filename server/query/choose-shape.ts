// Which shape a page is read in: the cheapest by counts that are known beforehand. Every shape gives the same answer, so a
// wrong guess costs time and nothing else. The counts are of visible records and of all: never of what a filter would find.
import type { KeyOrder } from './key-order.js';
import type { Shape } from './page-statement.js';
import type { VisibleExtent } from './row-predicate.js';
import type { Extent } from './visible-counts.js';

export interface Choosing {
  readonly order: KeyOrder;
  readonly ranges: VisibleExtent;
  readonly counts: Extent;
  readonly filtered: boolean;
  /** Records of a page and one more. */
  readonly limit: number;
}

/** Exact namespaces that are merged without asking how much is in them: a lineage has 33 at most. */
export const MERGED_NAMESPACES = 64;

/** One in so many visible records is taken to pass a filter, about which nothing is known. */
const PASSING = 10;

/** Microseconds, fitted to measurements (README.md, "The choice"). */
const COST = Object.freeze({
  /** Going to one range of an index. */
  range: 1.8,
  /** One visible entry of a range, and its place among the others. */
  gathered: 0.25,
  /** One visible record, its filter included. */
  filtered: 1.8,
  /** Making a multirange of one range. */
  member: 0.6,
  /** One entry of a scan, and what its test costs more for each doubling of the ranges. */
  scanned: 0.17,
  doubling: 0.04,
});

/** A scan gives up when it has cost what gathering costs, so that no page takes more than twice as long as that. */
export function chooseShape({ order, ranges: { ranges }, counts, filtered, limit }: Choosing): Shape {
  const visible = Math.max(1, counts.visible);
  const all = Math.max(visible, order.key === 'id' ? counts.everything : counts.family);
  const gather = COST.range * ranges + (filtered ? COST.filtered : COST.gathered) * visible;
  const wanted = Math.min(visible, filtered ? limit * PASSING : limit);
  const entry = COST.scanned + COST.doubling * Math.log2(ranges);
  // The share that is visible says how many entries stand between two visible ones.
  const records = filtered ? COST.filtered * wanted : 0;
  const scan = COST.member * ranges + records + (entry * wanted * all) / visible;
  return scan < gather ? { kind: 'scan', order, budget: Math.ceil(gather / entry) } : { kind: 'gather', order };
}
