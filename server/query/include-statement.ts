// The queries that add included records to the statement of a page: in its snapshot, and for the records that the page
// really shows. What the visible records name is looked up by key behind a fence, an invisible record like one that does
// not exist, and only what is visible is read further.
import { literal, numbered, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { coreFields } from './fields.js';
import type { Include } from './includes.js';
import { PAGE_BYTES, partsOf } from './page-parts.js';
import { largeRecordJson, mayBeLarge } from './projection.js';
import { isVisible, type RowPredicate } from './row-predicate.js';

/** A reference with what the actor may see of the family that it names. */
export interface OpenedInclude extends Include {
  readonly predicate: RowPredicate;
}

export interface IncludedQueries {
  /** Of a WITH RECURSIVE, after `placed` and `kept` of the page. */
  readonly queries: Fragment;
  /** A query of page rows with two columns more, the name of the reference and the place of the row. */
  readonly rows: Fragment;
}

export interface IncludeOptions {
  readonly index: number;
  readonly longest: number | null;
}

export function includedQueries(include: OpenedInclude, { index, longest }: IncludeOptions): IncludedQueries {
  const { family, keys, predicate, select, name } = include;
  const number = numbered(index);
  const [wanted, found, parts] = [sql`wanted_${number}`, sql`found_${number}`, sql`parts_${number}`];
  const most = literal(QUERY_LIMITS.included);
  const code = literal(familyCode(family));
  // No index can be used for IS NOT DISTINCT FROM (find-record.ts).
  const at =
    family === 'namespace'
      ? sql`r.path = w.key AND r.family = ${code}`
      : sql`r.id = w.key AND r.family IS NOT DISTINCT FROM ${code}`;
  const text = sql`${keyJson(include)} || ':' || ${largeRecordJson(family, select)}`;
  const end = sql`(SELECT count(*) FROM ${found})`;
  const tooMany = sql`(SELECT count(*) FROM ${wanted}) > ${most}`;
  const tooLarge = sql`p.bytes > ${literal(PAGE_BYTES)}`;
  return {
    queries: sql`${wanted} AS MATERIALIZED (SELECT DISTINCT n.key FROM placed AS x CROSS JOIN LATERAL (${keys}) AS n
        WHERE x.place <= (SELECT max(k.last) FROM kept AS k) AND n.key IS NOT NULL LIMIT ${literal(QUERY_LIMITS.included + 1)}),
      ${found} AS MATERIALIZED (SELECT x.*, row_number() OVER (ORDER BY x.id) AS place, ${mayBeLarge(family, select)} AS large
        FROM ${wanted} AS w CROSS JOIN LATERAL (SELECT r.* FROM records AS r
            WHERE ${at} OFFSET 0) AS x
        WHERE ${isVisible(predicate, sql`x.path`)} AND NOT ${tooMany}),
      ${partsOf({ name: parts, of: found, text, end, longest })}`,
    rows: sql`SELECT CASE WHEN NOT ${tooLarge} THEN p.records END, p.ids, ${tooLarge}, 0, FALSE, NULL::text, ${name}::text, p.part
        FROM ${parts} AS p WHERE p.part > 0
      UNION ALL SELECT NULL::text, NULL::text, TRUE, 0, FALSE, NULL::text, ${name}::text, 0::bigint WHERE ${tooMany}`,
  };
}

/** What the records are listed by: what names them. */
function keyJson({ family }: Include): Fragment {
  const field = coreFields(family).get(family === 'namespace' ? 'namespace' : 'id');
  if (field === undefined) throw new TypeError('a family without ids');
  return field.json;
}
