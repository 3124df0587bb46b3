// The statements that answer queries. Each has the same build: the visible rows, fenced; above them what the user asks;
// then order, place and limit. Nothing here runs without a row predicate (design 7, query-shapes.md).
import type { NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { storedPath } from '../db/tables.js';
import { compileCondition } from './compile-condition.js';
import { openCursor, sealCursor, type CursorBinding } from './cursor.js';
import { isAfter, isPosition, orderBy, positionOutput, sortColumns, sortOutputs, type Position } from './order.js';
import type { QueryPlan } from './plan.js';
import { outputColumns, toRecord, type RecordJson } from './projection.js';
import { visibleRows, type RowPredicate } from './row-predicate.js';
import { join, rowsOf, sql, type Fragment } from '../db/sql.js';

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

/** One page of the visible records that the plan asks for. Throws `query.cursor` for a cursor that is not of this query. */
export async function listPage(db: Database, { predicate, plan, cursors }: ListRequest): Promise<RecordPage> {
  const columns = sortColumns(plan.orderBy);
  const check = (value: unknown): value is Position => isPosition(value, columns);
  const after = plan.page.after === null ? null : openCursor(plan.page.after, { plan, binding: cursors, check });
  const { size } = plan.page;
  if (size === 0) return { items: [], next: null };
  // One row more than asked for tells whether there is a next page.
  const rows = await rowsOf<PageRow>(db.knex, pageStatement({ predicate, plan, after }));
  const shown = rows.slice(0, size);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => toRecord(row, plan.family, plan.select)),
    next: rows.length > size && last !== undefined ? sealCursor(last.at, { plan, binding: cursors }) : null,
  };
}

/** How many visible records the plan's conditions hold for. */
export async function countRecords(
  db: Database,
  request: { readonly predicate: RowPredicate; readonly plan: QueryPlan },
): Promise<number> {
  const rows = await rowsOf<{ readonly count: string }>(db.knex, countStatement(request));
  return Number(rows[0]?.count ?? 0);
}

/** Whether there is a record of this namespace, archived or not. Says nothing about who may know. */
export async function namespaceExists(db: Database, path: NamespacePath): Promise<boolean> {
  const rows = await rowsOf<{ readonly found: number }>(
    db.knex,
    sql`SELECT 1 AS found FROM records WHERE family = 0 AND path = ${storedPath(path)}::text LIMIT 1`,
  );
  return rows.length > 0;
}

interface PageRow extends Readonly<Record<string, unknown>> {
  readonly at: Position;
}

export interface PageRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
}

/** The statement of one page and one row more: what is shown is computed for these rows only. Exported for its tests. */
export function pageStatement({ predicate, plan, after }: PageRequest): Fragment {
  const columns = sortColumns(plan.orderBy);
  const order = orderBy(columns);
  return sql`SELECT ${join([...outputColumns(plan.family, plan.select), positionOutput(columns)], ', ')}
    FROM (SELECT x.* FROM (SELECT x.*, ${sortOutputs(columns)} FROM ${visible(predicate, plan)} AS x
        WHERE ${compileCondition(plan.where)}) AS x
      WHERE ${after === null ? sql`TRUE` : isAfter(columns, after)}
      ORDER BY ${order} LIMIT ${plan.page.size + 1}::bigint) AS x
    ORDER BY ${order}`;
}

/** Exported for its tests. */
export function countStatement(request: { readonly predicate: RowPredicate; readonly plan: QueryPlan }): Fragment {
  const { predicate, plan } = request;
  return sql`SELECT count(*) AS count FROM ${visible(predicate, plan)} AS x WHERE ${compileCondition(plan.where)}`;
}

function visible(predicate: RowPredicate, { family, includeArchived }: QueryPlan): Fragment {
  return visibleRows({ predicate, family, includeArchived });
}
