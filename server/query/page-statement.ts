// The statement of a page (server/query/README.md): visible records, fenced; above them what the user asks; then order and
// limit. Where the order has an index the first records of each visible root are merged, elsewhere all are gathered.
import { literal, sql, type Fragment } from '../db/sql.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { compileCondition } from './compile-condition.js';
import type { KeyOrder } from './key-order.js';
import { mergedRoots } from './merge-roots.js';
import { isAfter, orderBy, positionJson, sortColumns, sortOutputs, type Position } from './order.js';
import type { QueryPlan } from './plan.js';
import { recordJson, mayBeLarge } from './projection.js';
import { visibleRows, type RowPredicate } from './row-predicate.js';

export interface PageRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
  /** The order of the plan if an index gives it; null gathers, which any order can. */
  readonly order: KeyOrder | null;
}

/** A row of a page: some of its records. */
export interface PageRow {
  /** Their JSON texts with commas between them; null if there are none to show. */
  readonly records: string | null;
  /** The place of the last record of a page that is full, as a JSON list of texts; null in all other rows. */
  readonly at: string | null;
  /** Whether there are records beyond the page. */
  readonly more: boolean;
  /** How many records the page has up to here. */
  readonly shown: number;
  /** Some of these records may be large and have not been written. */
  readonly large: boolean;
}

/** Whether the page has to be read by `largePageStatement`: it is not there, or it is too large after all. */
export function isTooLarge(rows: readonly PageRow[]): boolean {
  if (rows.some(({ large }) => large)) return true;
  return (
    rows.reduce((sum, { records }) => sum + (records === null ? 0 : Buffer.byteLength(records) + 1), 0) > PAGE_BYTES
  );
}

/** The JSON text of the list of a page's records. */
export function itemsJson(rows: readonly PageRow[]): string {
  return `[${rows.flatMap(({ records }) => records ?? []).join(',')}]`;
}

/** The statement of one page, which reads one row more: what is shown is computed for these rows only. */
export function pageStatement(request: PageRequest): Fragment {
  // Gathering twice would cost more than asking how large the records are while they are written.
  return request.order === null ? largePageStatement(request) : statementOf(request, pageOutput);
}

/** The same page, however large its records are; it ends early by `QUERY_LIMITS.pageBytes`. */
export function largePageStatement(request: PageRequest): Fragment {
  return statementOf(request, largePageOutput);
}

function statementOf(request: PageRequest, output: typeof pageOutput): Fragment {
  const { plan, order } = request;
  if (order === null) return output(plan, gathered(request));
  const { queries, rows } = mergedRoots({ ...request, order });
  return sql`WITH ${queries}
    ${output(plan, rows)}`;
}

const { pageBytes: PAGE_BYTES } = QUERY_LIMITS;

/** Records of which one text is made: few texts for a page of small ones, and of the largest no more than a page may have. */
const TOGETHER = Object.freeze({ small: 64, large: 4 });

/** The `PageRow`s of a page of small records, in order, from its records and one more. */
export function pageOutput(plan: QueryPlan, rows: Fragment): Fragment {
  const columns = sortColumns(plan.orderBy);
  const size = sql`${plan.page.size}::bigint`;
  const part = sql`x.place / ${literal(TOGETHER.small)}`;
  return sql`SELECT string_agg(${recordOf(plan)}, ',' ORDER BY x.place) FILTER (WHERE x.place <= ${size} AND NOT x.large) AS records,
      max(${positionJson(columns)}) FILTER (WHERE x.place = ${size}) AS at, bool_or(x.place > ${size}) AS more,
      LEAST(max(x.place), ${size})::integer AS shown, bool_or(x.large) AS large
    FROM (${placed(plan, rows)}) AS x GROUP BY ${part} ORDER BY ${part}`;
}

/** The rows with their place from 1, and whether each of them may be large. */
function placed({ family, select, orderBy: keys }: QueryPlan, rows: Fragment): Fragment {
  return sql`SELECT x.*, row_number() OVER (ORDER BY ${orderBy(sortColumns(keys))}) AS place,
      ${mayBeLarge(family, select)} AS large FROM (${rows}) AS x`;
}

/**
 * The `PageRow`s of a page whose records may be large: the texts of a few at a time, one after the other until the page is
 * full, so that none is made that is not wanted but the last.
 */
function largePageOutput(plan: QueryPlan, rows: Fragment): Fragment {
  const columns = sortColumns(plan.orderBy);
  const size = sql`${plan.page.size}::bigint`;
  const bytes = literal(PAGE_BYTES);
  const count = sql`(SELECT count(*) FROM placed)`;
  const together = sql`(SELECT CASE WHEN bool_or(x.large) THEN ${literal(TOGETHER.large)} ELSE ${literal(TOGETHER.small)} END
              FROM placed AS x)`;
  return sql`SELECT o.* FROM (WITH RECURSIVE
      placed AS MATERIALIZED (${placed(plan, rows)}),
      texts (part, records, place, bytes) AS (
        SELECT 0::bigint, NULL::text COLLATE "C", 0::bigint, 0::bigint
        UNION ALL SELECT t.part + 1, n.records, n.place, t.bytes + octet_length(n.records) + 1
          FROM texts AS t CROSS JOIN LATERAL (
            SELECT string_agg(${recordOf(plan)}, ',' ORDER BY x.place) AS records, max(x.place) AS place
            FROM placed AS x WHERE x.place > t.place AND x.place <= LEAST(t.place + ${together}, ${size})) AS n
          WHERE n.place > 0 AND t.bytes <= ${bytes}),
      kept AS (SELECT t.*, max(t.place) OVER () AS last FROM texts AS t WHERE t.part = 1 OR t.part > 1 AND t.bytes <= ${bytes})
    SELECT k.records, k.last < ${count} AS more, k.last::integer AS shown, FALSE AS large,
      (SELECT ${positionJson(columns)} FROM placed AS x WHERE x.place = k.last
        AND k.place = k.last AND (k.last = ${size} OR k.last < ${count})) AS at
    FROM kept AS k ORDER BY k.part) AS o`;
}

function recordOf({ family, select }: QueryPlan): Fragment {
  return recordJson(family, select);
}

/** All visible records, sorted: their order is on what no index holds. */
function gathered({ predicate, plan, after }: PageRequest): Fragment {
  const columns = sortColumns(plan.orderBy);
  return sql`SELECT x.* FROM (SELECT x.*, ${sortOutputs(columns)} FROM ${visibleRows({ predicate, ...plan }, sql`r.*`)} AS x
        WHERE ${compileCondition(plan.where)}) AS x
      WHERE ${after === null ? sql`TRUE` : isAfter(columns, after)}
      ORDER BY ${orderBy(columns)} LIMIT ${pageLimit(plan)}`;
}

function pageLimit({ page }: QueryPlan): Fragment {
  return sql`${page.size + 1}::bigint`;
}
