// The JSON of records a few at a time, until there is as much as a page may have. So at most the last text is made in
// vain, and no statement ever writes more than a little beyond a page.
import { literal, sql, type Fragment } from '../db/sql.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { orTooLate } from './compile-condition.js';

export const PAGE_BYTES = QUERY_LIMITS.pageBytes;

/**
 * How many records share one text. A page of small records needs few texts, and four of the largest records fit into
 * one page.
 */
export const TOGETHER = Object.freeze({ small: 64, large: 4 });

interface Parts {
  /** The name of the query. */
  readonly name: Fragment;
  /** A query of records with their `place` from 1 and whether each may be `large`. */
  readonly of: Fragment;
  /** The text of a row called `x`. */
  readonly text: Fragment;
  /** The place of the last record that is wanted. */
  readonly end: Fragment;
  /** Milliseconds after which the statement ends itself; null if the store ends it. */
  readonly longest: number | null;
}

/** A recursive query of the parts, after an empty part 0: their texts and ids, the last place, and the bytes so far. */
export function partsOf({ name, of, text, end, longest }: Parts): Fragment {
  const together = sql`(SELECT CASE WHEN bool_or(x.large) THEN ${literal(TOGETHER.large)} ELSE ${literal(TOGETHER.small)} END
              FROM ${of} AS x)`;
  // Looked at for each record, as the parts that are shown say nothing about how much is read for them.
  const inTime = longest === null ? sql`` : sql` AND ${orTooLate(longest, sql`TRUE`)}`;
  return sql`${name} (part, records, ids, place, bytes) AS (
        SELECT 0::bigint, NULL::text COLLATE "C", NULL::text, 0::bigint, 0::bigint
        UNION ALL SELECT t.part + 1, n.records, n.ids, n.place, t.bytes + octet_length(n.records) + 1
          FROM ${name} AS t CROSS JOIN LATERAL (
            SELECT string_agg(${text}, ',' ORDER BY x.place) AS records, string_agg(x.id::text, ',' ORDER BY x.place) AS ids,
                max(x.place) AS place
            FROM ${of} AS x WHERE x.place > t.place AND x.place <= LEAST(t.place + ${together}, ${end})${inTime}) AS n
          WHERE n.place > 0 AND t.bytes <= ${literal(PAGE_BYTES)})`;
}
