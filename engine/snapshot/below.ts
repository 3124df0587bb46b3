// What every path below a namespace holds. Nothing can exist below some rows, and if every possible child of a row has a row of its own, no
// *other* path exists below it (model/namespace-tree.ts). Digests cover only what can be asked, so neither case may count paths that nobody
// can ask about.
import { addTo } from '../model/group.js';
import { childrenOf, type NamespaceTree, treeOf } from '../model/namespace-tree.js';
import type { PolicyTables } from '../model/tables.js';
import { NEVER, type TimelineNumber, type Timelines } from './numbered-timelines.js';

export interface BelowRule {
  readonly kindOf: NamespaceTree['belowOf'];
  /** For a full row: by class, what every path below it has in addition to what it inherits from the row. */
  readonly leastOf: (row: number) => ReadonlyMap<number, TimelineNumber>;
}

export interface BelowInput {
  readonly tables: PolicyTables;
  readonly timelines: Timelines;
  readonly grantsAt: (row: number) => Int32Array;
  readonly holdersOf: (principal: number) => Int32Array;
  readonly timelineOf: (grant: number) => TimelineNumber;
}

export function makeBelowRule(input: BelowInput): BelowRule {
  const { tables, timelines, grantsAt, holdersOf, timelineOf } = input;
  const tree = treeOf(tables);

  /** By class, the union of the child's grants that `counts` accepts. */
  const sumOf = (row: number, counts: (grant: number) => boolean): Map<number, TimelineNumber> => {
    const given = new Map<number, TimelineNumber[]>();
    for (const grant of grantsAt(row)) {
      if (!counts(grant)) continue;
      for (const holder of holdersOf(tables.grants.principal[grant] ?? 0)) addTo(given, holder, timelineOf(grant));
    }
    return new Map([...given].map(([holder, list]) => [holder, timelines.unionOf(list)]));
  };

  /** By class, what the child and everything below it have in common in addition to what the parent gives. */
  const givenBy = (row: number): ReadonlyMap<number, TimelineNumber> => {
    const kind = tree.belowOf(row);
    const own = sumOf(row, () => true);
    if (kind === 'nothing') return own;
    const given = sumOf(row, (grant) => tables.grants.inherit[grant] === 1);
    if (kind === 'open') return given;
    for (const [holder, timeline] of leastOf(row)) {
      const shared = timelines.intersection(own.get(holder) ?? NEVER, timeline);
      given.set(holder, timelines.union(given.get(holder) ?? NEVER, shared));
    }
    return given;
  };

  const leastOf = (row: number): ReadonlyMap<number, TimelineNumber> => {
    const [first, ...others] = childrenOf(tree, row).map(givenBy);
    const least = new Map(first);
    for (const [holder, timeline] of least) {
      const shared = others.reduce(
        (common, given) => timelines.intersection(common, given.get(holder) ?? NEVER),
        timeline,
      );
      least.set(holder, shared);
    }
    return least;
  };

  return { kindOf: tree.belowOf, leastOf };
}
