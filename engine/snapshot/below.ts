// What can lie below a namespace. Paths are limited in depth and length (docs/meaning.md "Namespaces"), so nothing can exist
// below some rows. And if every possible child of a row has a row of its own, no *other* path exists below it. Digests cover
// only what can be asked, so neither case may count paths that nobody can ask about.
import { NAMESPACE_LIMITS } from '../model/namespace.js';
import { subtreeEnds } from '../model/namespace-tree.js';
import type { PolicyTables } from '../model/tables.js';
import { NEVER, type TimelineNumber, type Timelines } from './numbered-timelines.js';

/** `open`: paths without a row can be below; `nothing`: no path can be below; `full`: every possible child has a row. */
export type BelowKind = 'open' | 'nothing' | 'full';

export interface BelowRule {
  readonly kindOf: (row: number) => BelowKind;
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

const ALPHABET = 40;
/** Longest segment for which possible children are counted. Longer ones allow more children than any policy can name. */
const COUNTED_LENGTH = 5;

/** The number of segments of at most this many characters: all strings over the alphabet except `.` and `..`. */
export function countSegments(length: number): number {
  if (length <= 0) return 0;
  if (length > COUNTED_LENGTH) return Infinity;
  let count = 0;
  for (let characters = 1; characters <= length; characters += 1) count += ALPHABET ** characters;
  return count - Math.min(length, 2);
}

export function makeBelowRule(input: BelowInput): BelowRule {
  const { tables, timelines, grantsAt, holdersOf, timelineOf } = input;
  const { parent, segment } = tables.namespaces;
  const ends = subtreeEnds(parent);
  const depth = new Int32Array(parent.length);
  const length = new Int32Array(parent.length);
  const children = new Int32Array(parent.length);
  parent.forEach((above, row) => {
    if (row === 0) return;
    depth[row] = (depth[above] ?? 0) + 1;
    length[row] = (length[above] ?? 0) + 1 + (tables.segments[segment[row] ?? 0] ?? '').length;
    children[above] = (children[above] ?? 0) + 1;
  });

  const kindOf = (row: number): BelowKind => {
    const room = (depth[row] ?? 0) < NAMESPACE_LIMITS.segments ? NAMESPACE_LIMITS.bytes - (length[row] ?? 0) - 1 : 0;
    if (room <= 0) return 'nothing';
    return children[row] === countSegments(room) ? 'full' : 'open';
  };

  const childrenOf = (row: number): readonly number[] => {
    // The rows of a subtree are consecutive, so each child begins where the one before ends.
    const rows: number[] = [];
    for (let child = row + 1; parent[child] === row; child = ends[child] ?? 0) rows.push(child);
    return rows;
  };

  /** By class, the union of the child's grants that `counts` accepts. */
  const sumOf = (row: number, counts: (grant: number) => boolean): Map<number, TimelineNumber> => {
    const given = new Map<number, TimelineNumber[]>();
    for (const grant of grantsAt(row)) {
      if (!counts(grant)) continue;
      for (const holder of holdersOf(tables.grants.principal[grant] ?? 0)) {
        const list = given.get(holder);
        if (list === undefined) given.set(holder, [timelineOf(grant)]);
        else list.push(timelineOf(grant));
      }
    }
    return new Map([...given].map(([holder, list]) => [holder, timelines.unionOf(list)]));
  };

  /** By class, what the child and everything below it have in common in addition to what the parent gives. */
  const givenBy = (row: number): ReadonlyMap<number, TimelineNumber> => {
    const kind = kindOf(row);
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
    const [first, ...others] = childrenOf(row).map(givenBy);
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

  return { kindOf, leastOf };
}
