// The statement of a page (server/query/README.md): visible records behind a fence, the user's conditions above it,
// then order and limit. If an index gives the order, the first records of each visible root are merged. Otherwise all
// visible records are gathered.
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import { includedQueries, type OpenedInclude } from './include-statement.js';
import type { KeyOrder } from './key-order.js';
import { mergedRoots } from './merge-roots.js';
import { isAfter, orderBy, positionJson, sortColumns, sortOutputs, type SortPosition } from './order.js';
import type { QueryPlan } from './plan.js';
import { PAGE_BYTES, partsOf, TOGETHER } from './page-parts.js';
import { largeRecordJson, mayBeLarge, recordJson } from './projection.js';
import { visibleRows, type RowPredicate } from './row-predicate.js';

export interface PageRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: SortPosition | null;
  /**
   * The order of the plan if an index gives it. With null all visible records are gathered, which works for any order.
   */
  readonly order: KeyOrder | null;
  /** Whether the records of the store are (`Database.isPartitioned`). It changes no answer. Defaults to false. */
  readonly isPartitioned?: boolean;
  /** Milliseconds after which a page of large records ends itself. Defaults to no limit. */
  readonly longest?: number | null;
  /** The references whose records come with the page, except those of which the actor may see nothing. */
  readonly opened?: readonly OpenedInclude[];
}

/** A row of the result: some of the page's records. */
export interface PageRow {
  /** Their JSON texts, separated by commas; null if there are none to show. */
  readonly records: string | null;
  /** Their ids with commas between them. */
  readonly ids: string | null;
  /** In the last row of a full page, the place of its last record as a JSON list of texts. Null in all other rows. */
  readonly at: string | null;
  /** Whether there are records beyond the page. */
  readonly more: boolean;
  /** How many records the page has up to and including this row. */
  readonly shown: number;
  /** Whether some of these records may be large, and their texts were left out. */
  readonly large: boolean;
  /**
   * In a page with included records: the name of the reference by which the row's records are included; null for those of
   * the page. `more` then says that they are too many or too large.
   */
  readonly reference?: string | null;
}

/**
 * Whether the page has to be read again by `largePageStatement`: texts were left out, or the page is too large after
 * all.
 */
export function isTooLarge(rows: readonly PageRow[]): boolean {
  if (rows.some(({ large }) => large)) return true;
  return (
    rows.reduce((sum, { records }) => sum + (records === null ? 0 : Buffer.byteLength(records) + 1), 0) > PAGE_BYTES
  );
}

/** The ids of a page's records, with commas between them. */
export function pageIds(rows: readonly PageRow[]): string {
  return rows.flatMap(({ ids }) => ids ?? []).join(',');
}

/** The JSON text of the list of a page's records. */
export function itemsJson(rows: readonly PageRow[]): string {
  return `[${rows.flatMap(({ records }) => records ?? []).join(',')}]`;
}

/**
 * The statement of one page. It reads one row more than the page has, and computes what is shown for these rows only.
 */
export function pageStatement(request: PageRequest): Fragment {
  // Gathering costs too much to do it twice. So these pages always measure the records while they write them.
  return request.order === null ? largePageStatement(request) : statementOf(request, pageOutput);
}

/** The same page, however large its records are. It ends early once it has `QUERY_LIMITS.pageBytes`. */
export function largePageStatement(request: PageRequest): Fragment {
  return statementOf(request, (plan, rows) => largePageOutput(plan, rows, request));
}

function statementOf(request: PageRequest, output: typeof pageOutput): Fragment {
  const { plan, order } = request;
  if (order === null) return output(plan, gathered(request));
  const { queries, rows } = mergedRoots({ ...request, order });
  return sql`WITH ${queries}
    ${output(plan, rows)}`;
}

/** The `PageRow`s of a page of small records, in order. `rows` gives the records of the page and one more. */
export function pageOutput(plan: QueryPlan, rows: Fragment): Fragment {
  const columns = sortColumns(plan.orderBy);
  const size = sql`${plan.page.size}::bigint`;
  const part = sql`x.place / ${literal(TOGETHER.small)}`;
  return sql`SELECT string_agg(${recordJson(plan.family, plan.select)}, ',' ORDER BY x.place) FILTER (WHERE x.place <= ${size} AND NOT x.large) AS records,
      string_agg(x.id::text, ',' ORDER BY x.place) FILTER (WHERE x.place <= ${size}) AS ids, max(${positionJson(columns)}) FILTER (WHERE x.place = ${size}) AS at, bool_or(x.place > ${size}) AS more,
      LEAST(max(x.place), ${size})::integer AS shown, bool_or(x.large) AS large
    FROM (${placed(plan, rows)}) AS x GROUP BY ${part} ORDER BY ${part}`;
}

/** The rows with their place from 1, and whether each of them may be large. */
function placed({ family, select, orderBy: keys }: QueryPlan, rows: Fragment): Fragment {
  return sql`SELECT x.*, row_number() OVER (ORDER BY ${orderBy(sortColumns(keys))}) AS place,
      ${mayBeLarge(family, select)} AS large FROM (${rows}) AS x`;
}

/**
 * The `PageRow`s of a page with records that may be large. The texts are made a few records at a time until the page is
 * full, so at most the last text is made in vain.
 */
function largePageOutput(plan: QueryPlan, rows: Fragment, { longest = null, opened = [] }: PageRequest): Fragment {
  const columns = sortColumns(plan.orderBy);
  const size = sql`${plan.page.size}::bigint`;
  const bytes = literal(PAGE_BYTES);
  const count = sql`(SELECT count(*) FROM placed)`;
  const text = largeRecordJson(plan.family, plan.select);
  const queries = sql`
      placed AS MATERIALIZED (${placed(plan, rows)}),
      ${partsOf({ name: sql`texts`, of: sql`placed`, text, end: size, longest })},
      kept AS (SELECT t.*, max(t.place) OVER () AS last FROM texts AS t WHERE t.part = 1 OR t.part > 1 AND t.bytes <= ${bytes})`;
  const shown = sql`k.records, k.ids, k.last < ${count} AS more, k.last::integer AS shown, FALSE AS large,
      (SELECT ${positionJson(columns)} FROM placed AS x WHERE x.place = k.last
        AND k.place = k.last AND (k.last = ${size} OR k.last < ${count})) AS at`;
  if (opened.length === 0) {
    return sql`SELECT o.* FROM (WITH RECURSIVE${queries}
    SELECT ${shown}
    FROM kept AS k ORDER BY k.part) AS o`;
  }
  const included = opened.map((one, index) => includedQueries(one, { index, longest }));
  return sql`SELECT o.* FROM (WITH RECURSIVE${queries},
      ${join(
        included.map((one) => one.queries),
        ', ',
      )}
    SELECT ${shown}, NULL::text AS reference, k.part AS part FROM kept AS k
    UNION ALL ${join(
      included.map((one) => one.rows),
      ' UNION ALL ',
    )}) AS o ORDER BY o.reference, o.part`;
}

/** All visible records, sorted by an order that no index gives. */
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
