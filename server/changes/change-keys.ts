// The roots of a reader's visible sets as ranges of the indexes of the feed. They are those of records
// (server/query/visible-arms.ts), except that one statement is about several families: the family is a part of each key.
import type { Family } from '../../engine/index.js';
import { familyCode } from '../db/tables.js';
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { KEYED_LEVELS } from '../query/ancestor-keys.js';
import { type RowPredicate, visibleRanges, visibleRoots } from '../query/row-predicate.js';

export interface ChangeArm {
  /** A table `v (at)` or `v (family, at)`. */
  readonly roots: Fragment;
  readonly size: number;
  /** The names of the columns of `roots`. */
  readonly columns: readonly Fragment[];
  /** The condition that a change called `c` lies within a root. */
  readonly within: Fragment;
}

export interface ChangeArms {
  readonly arms: readonly ChangeArm[];
  /** Queries of a recursive WITH that the arms read; empty if they read none. */
  readonly queries: readonly Fragment[];
  /** The number of roots, or an estimate of it. */
  readonly size: number;
}

/** What one reader may see, by family; not empty. */
export type Predicates = ReadonlyMap<Family, RowPredicate>;

/** The number of namespaces that a deep root is assumed to have below it. */
const BELOW = 8;

/** `inTime` adds the clock to a condition that is looked at again and again. */
export function changeArms(predicates: Predicates, inTime: (condition: Fragment) => Fragment): ChangeArms {
  const exact: Places = { families: [], paths: [] };
  const deep: Places = { families: [], paths: [] };
  const levels = new Map<number, string[]>();
  for (const [family, predicate] of predicates) {
    const code = familyCode(family);
    const roots = visibleRoots(predicate);
    addPlaces(exact, code, roots.exact);
    for (const [level, paths] of roots.subtrees) {
      if (level > KEYED_LEVELS) addPlaces(deep, code, paths);
      else {
        const keys = levels.get(level) ?? [];
        levels.set(level, keys);
        for (const path of paths) keys.push(`${String(code)}${path}`);
      }
    }
  }
  const arms: ChangeArm[] = [];
  if (exact.paths.length > 0) {
    arms.push({ ...IN_NAMESPACE, roots: sql`${placesOf(exact)} AS v (family, at)`, size: exact.paths.length });
  }
  for (const [level, keys] of [...levels].sort(([a], [b]) => a - b)) {
    arms.push({ ...inSubtree(level), roots: sql`unnest(${keys}::text[]) AS v (at)`, size: keys.length });
  }
  if (deep.paths.length > 0) {
    arms.push({ ...IN_NAMESPACE, roots: sql`below AS v`, size: deep.paths.length * BELOW });
  }
  return {
    arms,
    queries: deep.paths.length > 0 ? [below(deep, inTime)] : [],
    size: arms.reduce((sum, { size }) => sum + size, 0),
  };
}

interface Places {
  readonly families: number[];
  readonly paths: string[];
}

function addPlaces({ families, paths }: Places, code: number, roots: readonly string[]): void {
  for (const path of roots) {
    families.push(code);
    paths.push(path);
  }
}

function placesOf({ families, paths }: Places): Fragment {
  return sql`unnest(${families}::smallint[], ${paths}::text[])`;
}

const IN_NAMESPACE = Object.freeze({
  columns: [sql`family`, sql`at`],
  within: sql`c.family = v.family AND c.path = v.at`,
});

/** Holds only what the index has. */
function inSubtree(level: number): Pick<ChangeArm, 'columns' | 'within'> {
  const segments = Array.from({ length: level }, (_, index) => sql` || ${segment(index + 1)} || '/'`);
  const exists = level === 0 ? sql`TRUE` : sql`${segment(level)} <> ''`;
  const key = sql`((c.family::text || '/'${join(segments, '')}) COLLATE "C")`;
  return { columns: [sql`at`], within: sql`${exists} AND ${key} = v.at` };
}

function segment(depth: number): Fragment {
  return sql`split_part(c.path, '/', ${literal(depth + 1)})`;
}

/**
 * The namespaces with changes in subtrees that have no keys: from one to the next, each found by one look into the
 * index.
 */
function below(deep: Places, inTime: (condition: Fragment) => Fragment): Fragment {
  const next = sql`(SELECT c.path FROM changes AS c WHERE c.family = b.family AND c.path > b.at AND c.path < b.hi
        ORDER BY c.family, c.path LIMIT 1)`;
  const first = sql`(SELECT c.path FROM changes AS c WHERE c.family = b.family AND c.path >= b.at AND c.path < b.hi
        ORDER BY c.family, c.path LIMIT 1)`;
  return sql`steps (family, at, hi) AS (
      SELECT b.family, ${first}, b.hi FROM (SELECT d.family, d.at COLLATE "C" AS at, left(d.at, -1) || '0' COLLATE "C" AS hi
        FROM ${placesOf(deep)} AS d (family, at)) AS b
      UNION ALL SELECT b.family, ${next}, b.hi FROM steps AS b WHERE ${inTime(sql`b.at IS NOT NULL`)}),
    below (family, at) AS MATERIALIZED (SELECT b.family, b.at FROM steps AS b WHERE b.at IS NOT NULL)`;
}

/** All that is visible, as a table `(family, lo, hi)`. */
export function allRanges(predicates: Predicates): Fragment {
  const ranges = [...predicates].map(
    ([family, predicate]) =>
      sql`SELECT ${familyCode(family)}::smallint AS family, v.lo, v.hi FROM ${visibleRanges(predicate)}`,
  );
  return join(ranges, ' UNION ALL ');
}
