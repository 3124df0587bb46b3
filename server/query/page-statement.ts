// The statement of a page (server/query/README.md): visible records, fenced; above them what the user asks; then order and
// limit. Where the order has an index the first records of each visible root are merged, elsewhere all are gathered.
import { literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import type { KeyOrder } from './key-order.js';
import { mergedRoots } from './merge-roots.js';
import { isAfter, orderBy, positionJson, sortColumns, sortOutputs, type Position } from './order.js';
import type { QueryPlan } from './plan.js';
import { recordJson } from './projection.js';
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
  /** Their JSON texts with commas between them; null where there are none to show. */
  readonly records: string | null;
  /** The place of the last record of a full page, as a JSON list of texts; null in all other rows. */
  readonly at: string | null;
  /** Whether there are records beyond the page. */
  readonly more: boolean;
}

/** The JSON text of the list of a page's records. */
export function itemsJson(rows: readonly PageRow[]): string {
  return `[${rows.flatMap(({ records }) => records ?? []).join(',')}]`;
}

/** The statement of one page, which reads one row more: what is shown is computed for these rows only. */
export function pageStatement(request: PageRequest): Fragment {
  const { plan, order } = request;
  if (order === null) return pageOutput(plan, gathered(request));
  const { queries, rows } = mergedRoots({ ...request, order });
  return sql`WITH ${queries}
    ${pageOutput(plan, rows)}`;
}

/** Records of which one text is made: few texts for a page, and none that a page of large records would make too large. */
const TOGETHER = 64;

/** The `PageRow`s of a page, in order, from its records and one more. */
export function pageOutput(plan: QueryPlan, rows: Fragment): Fragment {
  const { family, select, page } = plan;
  const columns = sortColumns(plan.orderBy);
  const size = sql`${page.size}::bigint`;
  const part = sql`x.place / ${literal(TOGETHER)}`;
  return sql`SELECT string_agg(${recordJson(family, select)}, ',' ORDER BY x.place) FILTER (WHERE x.place <= ${size}) AS records,
      max(${positionJson(columns)}) FILTER (WHERE x.place = ${size}) AS at, bool_or(x.place > ${size}) AS more
    FROM (SELECT x.*, row_number() OVER (ORDER BY ${orderBy(columns)}) AS place FROM (${rows}) AS x) AS x
    GROUP BY ${part} ORDER BY ${part}`;
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
