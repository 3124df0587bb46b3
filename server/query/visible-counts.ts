// Counts. Without a condition they come from the counters of migration 0003: the counters of all namespaces in the
// visible ranges are added up, and no record is read. With a condition all visible records are read.
import type { Family } from '../../engine/index.js';
import { join, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { compileCondition } from './compile-condition.js';
import type { QueryCondition } from './condition.js';
import { visibleRanges, type RowPredicate } from './row-predicate.js';
import { visibleArms } from './visible-arms.js';

interface VisibleCountRequest {
  readonly predicate: RowPredicate;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/** The sum over the visible ranges, exact in every snapshot. */
export function counterStatement({ predicate, family, includeArchived }: VisibleCountRequest): Fragment {
  const n = includeArchived ? sql`c.active + c.archived` : sql`c.active`;
  return sql`SELECT COALESCE(sum(c.n), 0) AS count FROM (SELECT f.* FROM ${visibleRanges(predicate)}
      CROSS JOIN LATERAL (SELECT ${n} AS n FROM record_counts AS c
        WHERE c.family = ${familyCode(family)}::smallint AND c.path >= v.lo AND c.path < v.hi OFFSET 0) AS f) AS c`;
}

/** How many visible records meet the condition, and which one if it is only one. */
export function matchStatement(request: VisibleCountRequest, condition: QueryCondition): Fragment {
  return visibleMatches(
    request,
    condition,
    sql`count(*) AS count, CASE WHEN count(*) = 1 THEN min(x.id::text COLLATE "C") END AS only`,
  );
}

/**
 * `columns` of the visible records that meet the condition, each over a row called `x`. The statement reads whole ranges,
 * and is planned for that (`ReadOptions.whole`): all subtrees of one depth are one bitmap.
 */
export function visibleMatches(request: VisibleCountRequest, condition: QueryCondition, columns: Fragment): Fragment {
  const rows = visibleArms(request).map(({ roots, within, among }) =>
    among === null
      ? sql`SELECT f.* FROM ${roots} CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE ${within} OFFSET 0) AS f`
      : sql`SELECT f.* FROM (SELECT r.* FROM records AS r WHERE ${among} OFFSET 0) AS f`,
  );
  return sql`SELECT ${columns} FROM (${join(rows, ' UNION ALL ')}) AS x WHERE ${compileCondition(condition)}`;
}
