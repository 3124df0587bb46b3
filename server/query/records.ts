// The doors of the store for queries: a page, a count, and whether a namespace is there. Nothing here reads records without
// a row predicate (docs/queries.md "What stays hidden").
import type { NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import type { ReadOptions } from '../db/prepared.js';
import { sql, type Fragment } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import { isEverything } from './condition.js';
import { openCursor, sealCursor, type CursorBinding } from './cursor.js';
import { inTime } from './in-time.js';
import { keyOrder } from './key-order.js';
import { remembering, type Wanted } from './remembered.js';
import { isPosition, sortColumns, type Position } from './order.js';
import {
  isTooLarge,
  itemsJson,
  largePageStatement,
  pageStatement,
  type PageRequest,
  type PageRow,
} from './page-statement.js';
import type { QueryPlan } from './plan.js';
import type { RowPredicate } from './row-predicate.js';
import { counterStatement, matchStatement } from './visible-counts.js';

export interface RecordPage {
  /** The JSON text of a list of records. */
  readonly items: string;
  readonly count: number;
  /** A cursor to go on with; null at the end. */
  readonly next: string | null;
}

export interface CountRequest extends ReadOptions {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
}

export interface ListRequest extends CountRequest {
  /** Whom and what the cursors of this query belong to. */
  readonly cursors: CursorBinding;
}

/**
 * One page of the visible records that the plan asks for. Throws `query.cursor` for a cursor that is not of this query, at
 * once: nobody who calls this has asked the store for anything by then.
 */
export function listPage(db: Database, request: ListRequest): Promise<RecordPage> {
  const { plan, cursors } = request;
  const after = plan.page.after === null ? null : placeOf(plan.page.after, plan, cursors);
  return plan.page.size === 0 ? Promise.resolve({ items: '[]', count: 0, next: null }) : readPage(db, request, after);
}

function placeOf(cursor: string, plan: QueryPlan, binding: CursorBinding): Position {
  const columns = sortColumns(plan.orderBy);
  const check = (value: unknown): value is Position => isPosition(value, columns);
  return openCursor(cursor, { plan, binding, check });
}

async function readPage(db: Database, request: ListRequest, after: Position | null): Promise<RecordPage> {
  const { predicate, plan, cursors, ...options } = request;
  const rows = await readRows(db, { predicate, plan, after }, options);
  const last = rows.find(({ at }) => at !== null)?.at ?? null;
  const more = rows.some((row) => row.more);
  const next = more && last !== null ? sealCursor(positionOf(last, plan), { plan, binding: cursors }) : null;
  return { items: itemsJson(rows), count: rows.at(-1)?.shown ?? 0, next };
}

/** Most pages are small, and most of what a page of large records costs is to write them. */
async function readRows(db: Database, wanted: Wanted, options: ReadOptions): Promise<readonly PageRow[]> {
  const request = endedInTime(db, ordered(wanted));
  const rows = await db.readReplica<PageRow>(
    isEverything(request.plan.where) ? knownPage(wanted) : pageStatement(request),
    options,
  );
  if (!isTooLarge(rows)) return rows;
  // Whatever is gathered has been read so already.
  return request.order === null ? rows : db.readReplica<PageRow>(largePageStatement(request), options);
}

function positionOf(json: string, { orderBy }: QueryPlan): Position {
  const position: unknown = JSON.parse(json);
  if (!isPosition(position, sortColumns(orderBy))) throw new TypeError('a row without a place');
  return position;
}

/** The page's statement. Exported for its tests. */
export function chosenStatement(request: Wanted): Fragment {
  return pageStatement(ordered(request));
}

function ordered(wanted: Wanted): PageRequest {
  const { orderBy, family } = wanted.plan;
  return { ...wanted, order: keyOrder(orderBy, family) };
}

const knownPage = remembering(chosenStatement);
const knownCount = remembering(countStatement);

/** What is read in an order that an index gives and without a filter is there in no time, and so is a count without one. */
function endedInTime<T extends Wanted>({ longestQuery }: Database, wanted: T): T {
  const { plan } = wanted;
  const isQuick = isEverything(plan.where) && keyOrder(plan.orderBy, plan.family) !== null;
  if (longestQuery === null || isQuick) return wanted;
  return { ...wanted, plan: { ...plan, where: inTime(plan.where, longestQuery) } };
}

function countOf(db: Database, wanted: Wanted): Fragment {
  // With a filter it is seldom the same one again.
  return isEverything(wanted.plan.where) ? knownCount(wanted) : countStatement(endedInTime(db, wanted));
}

/** How many visible records the plan's conditions hold for. */
export async function countRecords(db: Database, { predicate, plan, ...options }: CountRequest): Promise<number> {
  const rows = await db.readReplica<{ readonly count: string }>(countOf(db, { predicate, plan, after: null }), options);
  return Number(rows[0]?.count ?? 0);
}

/** Exported for its tests. */
export function countStatement(request: { readonly predicate: RowPredicate; readonly plan: QueryPlan }): Fragment {
  const { predicate, plan } = request;
  const counted = { predicate, ...plan };
  return isEverything(plan.where) ? counterStatement(counted) : matchStatement(counted, plan.where);
}

/** Whether there is a record of this namespace, archived or not. Says nothing about who may know. */
export async function namespaceExists(db: Database, path: NamespacePath, signal?: AbortSignal): Promise<boolean> {
  const rows = await db.read<{ readonly found: number }>(
    sql`SELECT 1 AS found FROM records WHERE family = 0 AND path = ${storedPath(path)}::text LIMIT 1`,
    { signal },
  );
  return rows.length > 0;
}
