// Which shape a page is read in. Every shape gives the same answer; this decides time alone, so nothing that is invisible may
// take part (design 7): it looks at the query and at the actor's ranges, and the store is not asked.
import type { KeyOrder } from './key-order.js';
import type { Shape } from './page-statement.js';
import type { VisibleExtent } from './row-predicate.js';

export interface Choosing {
  readonly order: KeyOrder | null;
  readonly extent: VisibleExtent;
  readonly filtered: boolean;
}

/** Exact namespaces that are merged: a lineage has 33 at most. */
const MERGED_NAMESPACES = 64;

export function chooseShape({ order, extent, filtered }: Choosing): Shape {
  if (order === null) return { kind: 'gather', order };
  if (extent.everything) return { kind: 'scan', order };
  const mergeable = extent.exact && extent.ranges <= MERGED_NAMESPACES && !filtered;
  return { kind: mergeable ? 'merge' : 'gather', order };
}
