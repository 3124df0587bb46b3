// The statement of a page, in the shape that was chosen for it (server/query/README.md). All have the same build: visible
// records, fenced; above them what the user asks; then order and limit. Where the order has an index only its keys are
// read first, and then whole records for the rows of the page alone.
import { assertNever } from '../../engine/index.js';
import { join, numbered, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { compileCondition } from './compile-condition.js';
import { isEverything } from './condition.js';
import { keyColumns, keyId, keyNames, runOrder, runsAfter, type KeyOrder, type Run } from './key-order.js';
import { isAfter, orderBy, positionOutput, sortColumns, sortOutputs, type Position } from './order.js';
import type { QueryPlan } from './plan.js';
import { outputColumns } from './projection.js';
import { visibleExtent, visibleRanges, visibleRows, type RowPredicate } from './row-predicate.js';

/**
 * `gather` reads all visible entries and sorts. The others need an order with an index: `merge` takes the first of each
 * namespace, for a few exact ones and no filter; `scan` walks it over the whole family, where all of that is visible.
 */
export type Shape =
  | { readonly kind: 'gather'; readonly order: KeyOrder | null }
  | { readonly kind: 'merge' | 'scan'; readonly order: KeyOrder };

export interface PageRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
  readonly shape: Shape;
}

/** The statement of one page and one row more: what is shown is computed for these rows only. */
export function pageStatement(request: PageRequest): Fragment {
  const { plan, shape } = request;
  const columns = sortColumns(plan.orderBy);
  const outputs = join([...outputColumns(plan.family, plan.select), positionOutput(columns)], ', ');
  if (shape.order === null || (shape.kind === 'gather' && !isEverything(plan.where))) {
    return sql`SELECT ${outputs} FROM (${gatheredRecords(request)}) AS x ORDER BY ${orderBy(columns)}`;
  }
  // One by one: a plain join may read the whole table, and take as long as the others' records are wide.
  const keys = keyNames(shape.order, sql`k`);
  const id = keyId(shape.order, sql`k`);
  return sql`WITH ${keyQueries(request)}
    SELECT ${outputs} FROM (SELECT r.*, ${keys} FROM page AS k
      CROSS JOIN LATERAL (SELECT r.* FROM records AS r WHERE r.id = ${id} OFFSET 0) AS r) AS x
    ORDER BY ${orderBy(columns)}`;
}

/** The page's records, whole: their filter or their order is on what no index holds. */
function gatheredRecords({ predicate, plan, after }: PageRequest): Fragment {
  const columns = sortColumns(plan.orderBy);
  return sql`SELECT x.* FROM (SELECT x.*, ${sortOutputs(columns)} FROM ${visibleRows({ predicate, ...plan }, sql`r.*`)} AS x
        WHERE ${compileCondition(plan.where)}) AS x
      WHERE ${after === null ? sql`TRUE` : isAfter(columns, after)}
      ORDER BY ${orderBy(columns)} LIMIT ${limitOf(plan)}`;
}

/** The queries of a WITH, of which `page` has the keys of the page's records. */
function keyQueries(request: PageRequest): Fragment {
  const { shape } = request;
  if (shape.order === null) throw new TypeError('an order without an index has no keys');
  switch (shape.kind) {
    case 'gather':
      return sql`page AS MATERIALIZED (${gatheredKeys(request, shape.order)})`;
    case 'merge':
      return sql`page AS MATERIALIZED (${mergedKeys(request, shape.order)})`;
    case 'scan':
      return scanQueries(request, shape.order);
    default:
      return assertNever(shape);
  }
}

function gatheredKeys({ predicate, plan, after }: PageRequest, order: KeyOrder): Fragment {
  const columns = sortColumns(plan.orderBy);
  return sql`SELECT x.* FROM ${visibleRows({ predicate, ...plan }, keyColumns(order))} AS x
      WHERE ${after === null ? sql`TRUE` : isAfter(columns, after)}
      ORDER BY ${orderBy(columns)} LIMIT ${limitOf(plan)}`;
}

/** The first records of each namespace, run by run; at most as many from each as the page holds. */
function mergedKeys({ predicate, plan, after }: PageRequest, order: KeyOrder): Fragment {
  if (!visibleExtent(predicate).exact || !isEverything(plan.where)) throw new TypeError('not for a merge');
  const limit = limitOf(plan);
  const runs = runsAfter(order, after).map((run) => {
    const where = sql`${isOf(plan, sql`r`)} AND r.path = v.lo AND ${run.where}`;
    return sql`(SELECT ${keyColumns(order)} FROM records AS r WHERE ${where}
        ORDER BY ${runOrder(order, run)} LIMIT ${limit})`;
  });
  return sql`SELECT x.* FROM (SELECT f.* FROM ${visibleRanges(predicate)} CROSS JOIN LATERAL (
        ${join(runs, ' UNION ALL ')}) AS f) AS x
      ORDER BY ${orderBy(sortColumns(plan.orderBy))} LIMIT ${limit}`;
}

/**
 * Run after run over the whole family, a later one only as far as those before it leave the page short. Only where nothing
 * of the family is invisible: a walk passes every entry in its way, and would tell by its time what stands there.
 */
function scanQueries(request: PageRequest, order: KeyOrder): Fragment {
  const { plan, after, predicate } = request;
  if (!visibleExtent(predicate).everything) throw new TypeError('not for a scan');
  const runs = runsAfter(order, after);
  const counts = runs.map((_, index) => sql`(SELECT count(*) FROM ${runName(index)})`);
  const queries = runs.map((run, index) => {
    const rest = join([limitOf(plan), ...counts.slice(0, index)], ' - ');
    return sql`${runName(index)} AS MATERIALIZED (SELECT k.* FROM (${scannedRun(plan, order, run)}) AS k LIMIT ${rest})`;
  });
  const found = runs.map((_, index) => sql`SELECT * FROM ${runName(index)}`);
  return sql`${join(queries, ', ')}, page AS (${join(found, ' UNION ALL ')})`;
}

function runName(index: number): Fragment {
  return sql`s${numbered(index)}`;
}

/**
 * The first keys of a run. The CASE is a fence: it keeps the filter off other families' records, and from the planner, which
 * would take it for rare and sort the family.
 */
function scannedRun(plan: QueryPlan, order: KeyOrder, run: Run): Fragment {
  const [r, x] = [sql`r`, sql`x`];
  const walk = sql`${isOf(plan, r)} AND ${run.where}`;
  const end = sql`ORDER BY ${runOrder(order, run)} LIMIT ${limitOf(plan)}`;
  if (isEverything(plan.where)) return sql`SELECT ${keyColumns(order)} FROM records AS r WHERE ${walk} ${end}`;
  return sql`SELECT ${keyColumns(order)} FROM records AS r CROSS JOIN LATERAL (SELECT r.*) AS x
        WHERE ${walk} AND CASE WHEN ${isOfFamily(plan, x)} THEN ${compileCondition(plan.where)} ELSE FALSE END ${end}`;
}

/** Whether `row` is of the family and the lifecycle that are asked for. */
function isOf(plan: QueryPlan, row: Fragment): Fragment {
  const family = isOfFamily(plan, row);
  return plan.includeArchived ? family : sql`${family} AND ${row}.archived_at IS NULL`;
}

function isOfFamily({ family }: QueryPlan, row: Fragment): Fragment {
  return sql`${row}.family = ${familyCode(family)}::smallint`;
}

function limitOf({ page }: QueryPlan): Fragment {
  return sql`${page.size + 1}::bigint`;
}
