// The visible set as index ranges. Only `rowPredicate` makes a `RowPredicate`, from the engine's visibility. Other
// files get what it holds through the functions below alone, and every reading function requires one.
//
// The ranges stand in a subquery with OFFSET 0, which PostgreSQL neither flattens nor pushes conditions into. So
// whatever the user asks is evaluated on visible rows only and cannot steer the plan below (server/query/README.md "Why
// the invisible cannot steer it"). The ranges are plain comparisons in the column's own collation, which PostgreSQL
// also sends to a shard.
import type { Family, Visible } from '../../engine/index.js';
import { familyCode, storedPath } from '../db/tables.js';
import { sql, type Fragment } from '../db/sql.js';

declare const brand: unique symbol;

/** Which namespaces' records may be read. Opaque. */
export interface RowPredicate {
  readonly [brand]: true;
}

/** Disjoint, as stored paths in their order. */
export interface VisibleRoots {
  readonly exact: readonly string[];
  /** By the depth of the root, which is 0 for `/`. */
  readonly subtrees: ReadonlyMap<number, readonly string[]>;
}

interface Visibility {
  readonly roots: VisibleRoots;
  readonly lo: readonly string[];
  readonly hi: readonly string[];
}

const visibilityOf = new WeakMap<RowPredicate, Visibility>();

/** Exact namespaces and subtrees, none of them within another. Each is also a half-open interval of stored paths. */
export function rowPredicate(visible: Visible): RowPredicate {
  const intervals =
    visible.kind === 'all'
      ? [subtreeInterval('/')]
      : [
          ...visible.subtrees.map((path) => subtreeInterval(storedPath(path))),
          ...visible.exact.map((path) => exactInterval(storedPath(path))),
        ];
  const predicate = Object.freeze({}) as RowPredicate;
  visibilityOf.set(predicate, outermost(intervals));
  return predicate;
}

interface Interval {
  readonly kind: 'exact' | 'subtree';
  readonly lo: string;
  readonly hi: string;
}

/** A space sorts before every character that could continue the path. */
function exactInterval(lo: string): Interval {
  return { kind: 'exact', lo, hi: `${lo} ` };
}

/** `0` is the character after the slash. */
function subtreeInterval(lo: string): Interval {
  return { kind: 'subtree', lo, hi: `${lo.slice(0, -1)}0` };
}

/** Drops the intervals that lie within another one. Any two of the given intervals are disjoint or nested. */
function outermost(intervals: readonly Interval[]): Visibility {
  const [lo, hi, exact]: [string[], string[], string[]] = [[], [], []];
  const subtrees = new Map<number, string[]>();
  // Stored paths are ASCII, so the order of code units is the order of the column. The sort is stable: the subtree of a
  // root comes before the namespace of the same root.
  for (const interval of [...intervals].sort((a, b) => (a.lo < b.lo ? -1 : a.lo > b.lo ? 1 : 0))) {
    const last = hi.at(-1);
    if (last !== undefined && interval.lo < last) continue;
    lo.push(interval.lo);
    hi.push(interval.hi);
    if (interval.kind === 'exact') {
      exact.push(interval.lo);
      continue;
    }
    const depth = interval.lo.split('/').length - 2;
    const there = subtrees.get(depth);
    if (there === undefined) subtrees.set(depth, [interval.lo]);
    else there.push(interval.lo);
  }
  return { roots: { exact, subtrees }, lo, hi };
}

export function visibleRoots(predicate: RowPredicate): VisibleRoots {
  return read(predicate).roots;
}

/** The ranges as a table `v (lo, hi)`, to stand in a FROM. */
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

/**
 * Whether a stored path is in the visible set. The ranges are disjoint and in order, so the only one that can hold the
 * path is found by bisection, however many there are.
 */
export function isVisible(predicate: RowPredicate, path: Fragment): Fragment {
  const { lo, hi } = read(predicate);
  return sql`COALESCE(${path} < (${hi}::text[])[width_bucket(${path}, ${lo}::text[])], FALSE)`;
}

function read(predicate: RowPredicate): Visibility {
  const visibility = visibilityOf.get(predicate);
  if (visibility === undefined || visibility.lo.length === 0) throw new TypeError('not a row predicate');
  return visibility;
}
