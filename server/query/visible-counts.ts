// Counts without a condition, from the counters of migration 0003: as many entries as the visible ranges have namespaces, and no
// record.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { visibleRanges, type RowPredicate } from './row-predicate.js';

export interface CountRequest {
  readonly predicate: RowPredicate;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/** The sum over the visible ranges, exact in every snapshot. */
export function counterStatement({ predicate, family, includeArchived }: CountRequest): Fragment {
  const n = includeArchived ? sql`c.active + c.archived` : sql`c.active`;
  return sql`SELECT COALESCE(sum(c.n), 0) AS count FROM (SELECT f.* FROM ${visibleRanges(predicate)}
      CROSS JOIN LATERAL (SELECT ${n} AS n FROM record_counts AS c
        WHERE c.family = ${familyCode(family)}::smallint AND c.path >= v.lo AND c.path < v.hi OFFSET 0) AS f) AS c`;
}
