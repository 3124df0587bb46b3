// The visible set as index ranges. A `RowPredicate` is made from the engine's visibility by `rowPredicate` and by nothing
// else, what it holds is read by this file and by nothing else, and every reading function requires one.
//
// The ranges stand in a subquery with OFFSET 0, which PostgreSQL neither flattens nor pushes conditions into: whatever the
// user asks is evaluated on visible rows only and cannot steer the plan below (query-shapes.md, "gather"). Written with
// plain comparisons on the column's own collation the ranges also reach a shard.
import type { Family, NamespacePath, Visible } from '../../engine/index.js';
import { familyCode, storedPath } from '../db/tables.js';
import { sql, type Fragment } from '../db/sql.js';

declare const brand: unique symbol;

/** Which namespaces' records may be read. Opaque. */
export interface RowPredicate {
  readonly [brand]: true;
}

interface Intervals {
  readonly lo: readonly string[];
  readonly hi: readonly string[];
}

const intervalsOf = new WeakMap<RowPredicate, Intervals>();

/** Exact namespaces and subtrees alike become half-open intervals of stored paths, merged until they are disjoint. */
export function rowPredicate(visible: Visible): RowPredicate {
  const intervals =
    visible.kind === 'all'
      ? [subtreeInterval('/')]
      : [...visible.exact.map(exactInterval), ...visible.subtrees.map(subtreeInterval)];
  const predicate = Object.freeze({}) as RowPredicate;
  intervalsOf.set(predicate, merged(intervals));
  return predicate;
}

interface Interval {
  readonly lo: string;
  readonly hi: string;
}

/** A space sorts below every character that a path below could go on with. */
function exactInterval(path: NamespacePath): Interval {
  const lo = storedPath(path);
  return { lo, hi: exactEnd(lo) };
}

function exactEnd(lo: string): string {
  return `${lo} `;
}

/** `0` is the character after the slash. */
function subtreeInterval(path: NamespacePath | '/'): Interval {
  const lo = path === '/' ? '/' : `${path}/`;
  return { lo, hi: `${lo.slice(0, -1)}0` };
}

function merged(intervals: readonly Interval[]): Intervals {
  const lo: string[] = [];
  const hi: string[] = [];
  // Stored paths are ASCII, where the order of code units is the order of the column.
  for (const interval of [...intervals].sort((a, b) => (a.lo < b.lo ? -1 : a.lo > b.lo ? 1 : 0))) {
    const last = hi.at(-1);
    if (last !== undefined && interval.lo <= last) {
      if (interval.hi > last) hi[hi.length - 1] = interval.hi;
    } else {
      lo.push(interval.lo);
      hi.push(interval.hi);
    }
  }
  return { lo, hi };
}

export interface VisibleExtent {
  readonly ranges: number;
  /** Each range is one namespace rather than a subtree. */
  readonly exact: boolean;
  /** Nothing is left out. */
  readonly everything: boolean;
}

export function visibleExtent(predicate: RowPredicate): VisibleExtent {
  const { lo, hi } = read(predicate);
  const root = subtreeInterval('/');
  return {
    ranges: lo.length,
    exact: lo.every((from, index) => hi[index] === exactEnd(from)),
    everything: lo.length === 1 && lo[0] === root.lo && hi[0] === root.hi,
  };
}

/** The ranges as a table `v (lo, hi)`, to stand in a FROM; `v.lo` is the namespace itself where the extent is exact. */
export function visibleRanges(predicate: RowPredicate): Fragment {
  const { lo, hi } = read(predicate);
  return sql`unnest(${lo}::text[], ${hi}::text[]) AS v (lo, hi)`;
}

export interface VisibleRows {
  readonly predicate: RowPredicate;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/**
 * `columns` of the visible records of a family, each over a row called `r`, as a fenced table expression to stand in a FROM
 * under an alias.
 */
export function visibleRows({ predicate, family, includeArchived }: VisibleRows, columns: Fragment): Fragment {
  const active = includeArchived ? sql`` : sql` AND r.archived_at IS NULL`;
  return sql`(SELECT f.* FROM ${visibleRanges(predicate)} CROSS JOIN LATERAL (SELECT ${columns} FROM records AS r
      WHERE r.family = ${familyCode(family)}::smallint AND r.path >= v.lo AND r.path < v.hi${active} OFFSET 0) AS f)`;
}

function read(predicate: RowPredicate): Intervals {
  const intervals = intervalsOf.get(predicate);
  if (intervals === undefined || intervals.lo.length === 0) throw new TypeError('not a row predicate');
  return intervals;
}
