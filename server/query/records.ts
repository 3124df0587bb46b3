// The doors of the store for queries: a page, a count, and whether a namespace is there. Nothing here reads records without
// a row predicate (design 7, README.md).
import type { NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import { chooseShape } from './choose-shape.js';
import { compileCondition } from './compile-condition.js';
import { isEverything } from './condition.js';
import { openCursor, sealCursor, type CursorBinding } from './cursor.js';
import { keyOrder } from './key-order.js';
import { isPosition, sortColumns, type Position } from './order.js';
import { pageStatement } from './page-statement.js';
import type { QueryPlan } from './plan.js';
import { toRecord, type RecordJson } from './projection.js';
import { visibleExtent, visibleRows, type RowPredicate } from './row-predicate.js';
import { counterStatement } from './visible-counts.js';

export interface RecordPage {
  readonly items: readonly RecordJson[];
  /** A cursor to go on with; null at the end. */
  readonly next: string | null;
}

export interface ListRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  /** Whom and what the cursors of this query belong to. */
  readonly cursors: CursorBinding;
}

/**
 * One page of the visible records that the plan asks for. Throws `query.cursor` for a cursor that is not of this query, at
 * once: nobody who calls this has asked the store for anything by then.
 */
export function listPage(db: Database, request: ListRequest): Promise<RecordPage> {
  const { plan, cursors } = request;
  const columns = sortColumns(plan.orderBy);
  const check = (value: unknown): value is Position => isPosition(value, columns);
  const after = plan.page.after === null ? null : openCursor(plan.page.after, { plan, binding: cursors, check });
  return plan.page.size === 0 ? Promise.resolve({ items: [], next: null }) : readPage(db, request, after);
}

async function readPage(db: Database, request: ListRequest, after: Position | null): Promise<RecordPage> {
  const { predicate, plan, cursors } = request;
  const { size } = plan.page;
  // One row more than asked for tells whether there is a next page.
  const rows = await rowsOf<PageRow>(db.knex, chosenStatement({ predicate, plan, after }));
  const shown = rows.slice(0, size);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => toRecord(row, plan.family, plan.select)),
    next: rows.length > size && last !== undefined ? sealCursor(last.at, { plan, binding: cursors }) : null,
  };
}

interface PageRow extends Readonly<Record<string, unknown>> {
  readonly at: Position;
}

/** The page's statement in its shape. Exported for its tests. */
export function chosenStatement(request: {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
}): Fragment {
  const { orderBy, where } = request.plan;
  const extent = visibleExtent(request.predicate);
  return pageStatement({
    ...request,
    shape: chooseShape({ order: keyOrder(orderBy), extent, filtered: !isEverything(where) }),
  });
}

/** How many visible records the plan's conditions hold for. */
export async function countRecords(
  db: Database,
  request: { readonly predicate: RowPredicate; readonly plan: QueryPlan },
): Promise<number> {
  const rows = await rowsOf<{ readonly count: string }>(db.knex, countStatement(request));
  return Number(rows[0]?.count ?? 0);
}

/** Exported for its tests. */
export function countStatement(request: { readonly predicate: RowPredicate; readonly plan: QueryPlan }): Fragment {
  const { predicate, plan } = request;
  if (isEverything(plan.where)) return counterStatement({ predicate, ...plan });
  const rows = visibleRows({ predicate, ...plan }, sql`r.*`);
  return sql`SELECT count(*) AS count FROM ${rows} AS x WHERE ${compileCondition(plan.where)}`;
}

/** Whether there is a record of this namespace, archived or not. Says nothing about who may know. */
export async function namespaceExists(db: Database, path: NamespacePath): Promise<boolean> {
  const rows = await rowsOf<{ readonly found: number }>(
    db.knex,
    sql`SELECT 1 AS found FROM records WHERE family = 0 AND path = ${storedPath(path)}::text LIMIT 1`,
  );
  return rows.length > 0;
}
