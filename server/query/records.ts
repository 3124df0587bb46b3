// The doors of the store for queries: a page, a count, and whether a namespace exists. Nothing here reads records
// without a row predicate (docs/queries.md "What stays hidden").
import type { Family, NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import type { ReadOptions } from '../db/prepared.js';
import { sql, type Fragment } from '../db/sql.js';
import { storedPath } from '../db/tables.js';
import { QUERY_LIMITS } from '../limits/queries.js';
import { ApiProblem } from '../problem.js';
import { isEverything } from './condition.js';
import { openCursor, sealCursor, type CursorBinding } from './cursor.js';
import { inTime } from './in-time.js';
import { keyOrder } from './key-order.js';
import { remembering, type PageRequestKey } from './remembered.js';
import { isPosition, sortColumns, type SortPosition } from './order.js';
import {
  isTooLarge,
  itemsJson,
  largePageStatement,
  pageIds,
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
  /** How many records are shown, included ones too. */
  readonly count: number;
  /** The ids of these records, with commas between them. */
  readonly ids: string;
  /** The JSON text of the included records, by reference; null if the query names none. */
  readonly included: string | null;
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

interface CountRequest extends ReadOptions {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
}

export interface ListRequest extends CountRequest {
  /** What the cursors of this query are bound to. */
  readonly cursors: CursorBinding;
  /** What the actor may see of the families that included records are of. Nothing of a family that is not here. */
  readonly includable?: ReadonlyMap<Family, RowPredicate>;
}

/**
 * One page of the visible records that the plan asks for. A cursor that is not of this query throws `query.cursor` at
 * once, before the caller has asked the store for anything.
 */
export function listPage(db: Database, request: ListRequest): Promise<RecordPage> {
  const { plan, cursors } = request;
  const after = plan.page.after === null ? null : placeOf(plan.page.after, plan, cursors);
  return plan.page.size === 0
    ? Promise.resolve({ items: '[]', count: 0, ids: '', included: includedJson(plan, []), next: null })
    : readPage(db, request, after);
}

function placeOf(cursor: string, plan: QueryPlan, binding: CursorBinding): SortPosition {
  const columns = sortColumns(plan.orderBy);
  const check = (value: unknown): value is SortPosition => isPosition(value, columns);
  return openCursor(cursor, { plan, binding, check });
}

async function readPage(db: Database, request: ListRequest, after: SortPosition | null): Promise<RecordPage> {
  const { predicate, plan, cursors, includable, ...options } = request;
  const wanted = { predicate, plan, after, isPartitioned: db.isPartitioned };
  const all =
    plan.includes.length === 0
      ? await readRows(db, wanted, options)
      : await db.readReplica<PageRow>(includingStatement(db, wanted, includable), options);
  const rows = all.filter(({ reference = null }) => reference === null);
  const last = rows.find(({ at }) => at !== null)?.at ?? null;
  const more = rows.some((row) => row.more);
  const next = more && last !== null ? sealCursor(positionOf(last, plan), { plan, binding: cursors }) : null;
  const included = includedJson(plan, all);
  if (included === null)
    return { items: itemsJson(rows), count: rows.at(-1)?.shown ?? 0, ids: pageIds(rows), included, next };
  // A record of the page may be included as well.
  const ids = new Set(
    pageIds(all)
      .split(',')
      .filter((id) => id !== ''),
  );
  return { items: itemsJson(rows), count: ids.size, ids: [...ids].join(','), included, next };
}

/** Always the statement for large records, so that what is included belongs to the records that the page shows. */
function includingStatement(db: Database, wanted: PageRequestKey, includable: ListRequest['includable']): Fragment {
  const opened = wanted.plan.includes.flatMap((include) => {
    const predicate = includable?.get(include.family);
    return predicate === undefined ? [] : [{ ...include, predicate }];
  });
  return largePageStatement({ ...endedInTime(db, ordered(wanted)), longest: db.longestQuery, opened });
}

/** Throws `query.limit` if they are too many or too large: no answer has a part of them. */
function includedJson({ includes }: QueryPlan, rows: readonly PageRow[]): string | null {
  if (includes.length === 0) return null;
  let bytes = 0;
  const members = includes.map(({ name }) => {
    const own = rows.filter(({ reference }) => reference === name);
    const records = own.flatMap((row) => row.records ?? []).join(',');
    bytes += Buffer.byteLength(records);
    if (own.some(({ more }) => more) || bytes > QUERY_LIMITS.pageBytes) throw tooMuchIncluded(name);
    return `"${name}":{${records}}`;
  });
  return `{${members.join(',')}}`;
}

function tooMuchIncluded(name: string): ApiProblem {
  const code = 'query.limit';
  const message = `includes more than ${String(QUERY_LIMITS.included)} records, or too much of them for an answer; ask for a smaller page, or for fewer fields with \`select\``;
  return new ApiProblem(code, { errors: [{ pointer: `/includes/${name}`, code, message }] });
}

/**
 * Tries the statement for small records first, because most pages are small. A second attempt adds little: most of what
 * a page of large records costs is writing them.
 */
async function readRows(db: Database, wanted: PageRequestKey, options: ReadOptions): Promise<readonly PageRow[]> {
  const request = { ...endedInTime(db, ordered(wanted)), longest: db.longestQuery };
  const rows = await db.readReplica<PageRow>(
    isEverything(request.plan.where) ? knownPage(wanted) : pageStatement(request),
    options,
  );
  if (!isTooLarge(rows)) return rows;
  // A gathered page was read by `largePageStatement` in the first place.
  return request.order === null ? rows : db.readReplica<PageRow>(largePageStatement(request), options);
}

function positionOf(json: string, { orderBy }: QueryPlan): SortPosition {
  const position: unknown = JSON.parse(json);
  if (!isPosition(position, sortColumns(orderBy))) throw new TypeError('a row without a place');
  return position;
}

/** The page's statement. Exported for its tests. */
export function chosenStatement(request: PageRequestKey): Fragment {
  return pageStatement(ordered(request));
}

function ordered(wanted: PageRequestKey): PageRequest {
  const { orderBy, family } = wanted.plan;
  return { ...wanted, order: keyOrder(orderBy, family) };
}

const knownPage = remembering(chosenStatement);
const knownCount = remembering(countStatement);

/**
 * Adds the time limit to a query that can run long. A page or a count without a filter never does, if an index gives
 * the order.
 */
function endedInTime<T extends PageRequestKey>({ longestQuery }: Database, wanted: T): T {
  const { plan } = wanted;
  const isQuick = isEverything(plan.where) && keyOrder(plan.orderBy, plan.family) !== null;
  if (longestQuery === null || isQuick) return wanted;
  return { ...wanted, plan: { ...plan, where: inTime(plan.where, longestQuery) } };
}

function countOf(db: Database, wanted: PageRequestKey): Fragment {
  // A statement with a filter is seldom used again, so it is not remembered.
  return isEverything(wanted.plan.where) ? knownCount(wanted) : countStatement(endedInTime(db, wanted));
}

/** How many visible records meet the plan's conditions. */
export async function countRecords(db: Database, request: CountRequest): Promise<number> {
  return (await countMatches(db, request)).count;
}

interface Counted {
  readonly count: number;
  /** The id of the only record that meets a filter; null if there are more or none, or if there is no filter. */
  readonly only: string | null;
}

export async function countMatches(db: Database, { predicate, plan, ...options }: CountRequest): Promise<Counted> {
  const statement = countOf(db, { predicate, plan, after: null, isPartitioned: db.isPartitioned });
  const [row] = await db.readReplica<CountRow>(statement, { ...options, whole: !isEverything(plan.where) });
  return { count: Number(row?.count ?? 0), only: row?.only ?? null };
}

interface CountRow {
  readonly count: string;
  /** Absent if no record was read. */
  readonly only?: string | null;
}

/** Exported for its tests. */
export function countStatement(request: { readonly predicate: RowPredicate; readonly plan: QueryPlan }): Fragment {
  const { predicate, plan } = request;
  const counted = { predicate, ...plan };
  return isEverything(plan.where) ? counterStatement(counted) : matchStatement(counted, plan.where);
}

/** Whether this namespace has a record, archived or not. The caller decides who may know. */
export async function namespaceExists(db: Database, path: NamespacePath, signal?: AbortSignal): Promise<boolean> {
  const rows = await db.read<{ readonly found: number }>(
    sql`SELECT 1 AS found FROM records WHERE family = 0 AND path = ${storedPath(path)}::text LIMIT 1`,
    { signal },
  );
  return rows.length > 0;
}
