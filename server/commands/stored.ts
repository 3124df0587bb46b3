// The statements of commands on single records. The answer has the record's JSON in the usual form
// (query/projection.ts), and every change raises the record's revision.
import { canonicalize, type Family, formatInstant, type Instant, type NamespacePath } from '../../engine/index.js';
import { join, sql, type Fragment } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';
import { recordJson } from '../query/projection.js';
import { type ChangedRecord, type Done, type Found, Moved, type RecordToCreate, type Session } from './command.js';

export interface WrittenRecord {
  readonly id: string;
  readonly revision: number;
  readonly json: string;
}

/** A record that another one was judged by or refers to, as it was then. */
export type DependedOn = Pick<Found, 'id' | 'namespace' | 'revision'>;

/** Null if a namespace with that path already exists. Throws `Moved` if anything that it depends on has been moved. */
export async function insertRecord(
  session: Session,
  record: RecordToCreate,
  dependsOn: readonly DependedOn[],
): Promise<WrittenRecord | null> {
  const [row] = await session.rows<WrittenRecord>(insertStatement(session, record, ifStill(dependsOn)));
  if (row === undefined && dependsOn.length > 0) throw new Moved(dependsOn);
  return row ?? null;
}

/** Whoever changes them otherwise counts as later than this transaction, which has just read them. */
function ifStill(dependsOn: readonly DependedOn[]): Fragment {
  return dependsOn.length === 0 ? sql`` : sql`FROM (SELECT WHERE ${areStill(dependsOn, sql``)}) AS ready`;
}

/** That these are where they were, unchanged and not archived, and stay where they are. */
export function unchanged(dependsOn: readonly DependedOn[]): Fragment {
  return areStill(dependsOn, sql` AND n.revision = o.revision AND n.archived_at IS NULL`);
}

/**
 * That these are where they were, and stay there until the transaction ends: a move locks its record against this lock.
 * One that is being moved counts as moved, because whoever waits here may hold what the other waits for.
 */
function areStill(dependsOn: readonly DependedOn[], andAlso: Fragment): Fragment {
  const columns = [
    dependsOn.map(({ id }) => id),
    dependsOn.map(({ namespace }) => storedPath(namespace)),
    dependsOn.map(({ revision }) => revision),
  ] as const;
  // Each row is looked up by itself: OFFSET 0 keeps the planner from joining (at-once.ts).
  return sql`(SELECT count(*) FROM unnest(${columns[0]}::uuid[], ${columns[1]}::text[], ${columns[2]}::integer[]) AS o (id, path, revision)
            CROSS JOIN LATERAL (SELECT n.path, n.revision, n.archived_at FROM records AS n WHERE n.id = o.id OFFSET 0
              FOR KEY SHARE SKIP LOCKED) AS n
            WHERE n.path = o.path${andAlso}) = ${dependsOn.length}::integer`;
}

/** Inserts the record, as often as `from` has rows, and answers with a `WrittenRecord` if it did. */
export function insertStatement(
  session: Pick<Session, 'at' | 'actor'>,
  { id, family, namespace, content, copiedFrom }: RecordToCreate,
  from: Fragment,
): Fragment {
  const at = instant(session.at);
  return sql`INSERT INTO records AS x (id, family, path, name, description, properties, version, schema, slots, template, copied_from,
        parameters, resources, state, unique_name, revision, created_at, updated_at, created_by)
      SELECT ${id}::uuid, ${familyCode(family)}::smallint, ${storedPath(namespace)}::text, ${content.name}::text,
        ${content.description}::text, ${content.properties}::jsonb, ${content.version}::text, ${content.schema}::jsonb,
        ${content.slots}::jsonb, ${content.template}::uuid, ${copiedFrom}::uuid, ${content.parameters}::jsonb,
        ${content.resources}::jsonb, ${content.state}::text, ${content.uniqueName}::boolean, 1, ${at}, ${at}, ${session.actor.id}::text ${from}
      ON CONFLICT (path) WHERE family = 0 DO NOTHING
      RETURNING x.id, x.revision, ${recordJson(family, null)} AS json`;
}

/** What was done when a record was written. */
export function doneOf(status: Done['status'], { family, namespace }: RecordPlace, written: WrittenRecord): Done {
  return { status, family, namespace, ...written, untold: 'record' };
}

/** A record as the store has it. */
export interface StoredRecord {
  readonly id: string;
  readonly path: string;
  readonly revision: number;
  readonly archived: boolean;
  readonly template: string | null;
  readonly name: string | null;
  /** Whether its name must be unique; of a template, whether it asks for that. */
  readonly uniqueName: boolean;
  /** Only present if they were asked for. */
  readonly properties?: unknown;
  readonly parameters?: unknown;
  readonly resources?: unknown;
  readonly slots?: unknown;
}

const STATE = sql`x.id, x.path, x.revision, x.archived_at IS NOT NULL AS archived, x.template, x.name, x.unique_name AS "uniqueName"`;

/**
 * The record with that condition. `documents` are more columns to read: without them nothing is read that can be large,
 * so that the time does not tell an invisible record from a missing one.
 */
export async function readStored(
  session: Session,
  which: Fragment,
  documents: readonly Fragment[] = [],
): Promise<StoredRecord | null> {
  const [row] = await session.rows<StoredRecord>(storedStatement(which, documents));
  return row ?? null;
}

/** The same, and nobody else can change it until the transaction ends. */
export async function lockRecord(
  session: Session,
  which: Fragment,
  documents: readonly Fragment[],
): Promise<StoredRecord | null> {
  const [row] = await session.rows<StoredRecord>(sql`${storedStatement(which, documents)} ${TO_CHANGE}`);
  return row ?? null;
}

/** The same, and nobody else can begin to refer to it until the transaction ends (`areStill`). */
export async function lockToMove(
  session: Session,
  which: Fragment,
  documents: readonly Fragment[],
): Promise<StoredRecord | null> {
  const [row] = await session.rows<StoredRecord>(sql`${storedStatement(which, documents)} ${TO_MOVE}`);
  return row ?? null;
}

export const TO_CHANGE = sql`FOR NO KEY UPDATE`;
export const TO_MOVE = sql`FOR UPDATE`;
export const TO_REFER = sql`FOR KEY SHARE`;

function storedStatement(which: Fragment, documents: readonly Fragment[]): Fragment {
  return sql`SELECT ${join([STATE, ...documents], ', ')} FROM records AS x WHERE ${which}`;
}

/**
 * By the primary key alone: no index can be used for IS NOT DISTINCT FROM. While the store is small, one that begins with
 * the family looks as good to the planner, and the plan stays when the store has grown.
 */
export function byId(family: Family, id: string): Fragment {
  return sql`x.id = ${id}::uuid AND x.family IS NOT DISTINCT FROM ${familyCode(family)}::smallint`;
}

export function byPath(namespace: NamespacePath): Fragment {
  return sql`x.family = 0 AND x.path = ${storedPath(namespace)}::text`;
}

/** What a change gives a record. */
export interface Assigned {
  /** Columns with their new values. */
  readonly columns: readonly Fragment[];
  /** The records that they were judged by. */
  readonly dependsOn: readonly DependedOn[];
}

/** Where a record of ours is: the namespace is the one that was decided. */
export interface RecordPlace {
  readonly family: Family;
  readonly namespace: NamespacePath;
}

/** Changes a locked record. Throws `Moved` if anything that it depends on has been moved. */
export async function updateRecord(
  session: Session,
  record: RecordPlace & { readonly id: string },
  { columns, dependsOn }: Assigned,
): Promise<Done> {
  const [row] = await session.rows<WrittenRecord>(updateStatement(session, { ...record, columns }, ifStill(dependsOn)));
  if (row === undefined && dependsOn.length > 0) throw new Moved(dependsOn);
  if (row === undefined) throw new TypeError('a locked record that is not there');
  return doneOf(200, record, row);
}

/** Changes the record if `from` has rows, and answers with a `WrittenRecord` if it did. */
export function updateStatement(
  session: Pick<Session, 'at'>,
  { id, family, columns }: Pick<ChangedRecord, 'id' | 'family' | 'columns'>,
  from: Fragment,
): Fragment {
  // The clock of this gateway may be behind that of another.
  const always = sql`revision = x.revision + 1, updated_at = GREATEST(x.updated_at, ${instant(session.at)}), implied = false`;
  return sql`UPDATE records AS x SET ${join([...columns, always], ', ')} ${from} WHERE ${byId(family, id)}
      RETURNING x.id, x.revision, ${recordJson(family, null)} AS json`;
}

/** The record in its present state. */
export async function readRecord(session: Session, place: RecordPlace, which: Fragment): Promise<Done> {
  const [row] = await session.rows<WrittenRecord>(
    sql`SELECT x.id, x.revision, ${recordJson(place.family, null)} AS json FROM records AS x WHERE ${which}`,
  );
  if (row === undefined) throw new TypeError('a record that was there and is not any more');
  return doneOf(200, place, row);
}

export interface GroundRequest {
  readonly namespaces: readonly NamespacePath[];
  readonly ids: readonly string[];
}

export interface Ground {
  readonly namespaces: ReadonlyMap<NamespacePath, Found>;
  readonly records: ReadonlyMap<string, Found>;
}

/** Reads everything that a command depends on in one statement. */
export async function readGround(session: Pick<Session, 'rows'>, { namespaces, ids }: GroundRequest): Promise<Ground> {
  if (namespaces.length + ids.length === 0) return { namespaces: new Map(), records: new Map() };
  const columns = sql`x.id, x.family, x.path, x.archived_at IS NOT NULL AS archived, x.revision, x.template, x.slots, x.unique_name AS "uniqueName" FROM records AS x`;
  const rows = await session.rows<Omit<Found, 'namespace'> & { readonly path: string; readonly above: boolean }>(
    // Each path is looked up by itself. For `= ANY`, a plan from when the store was small reads all namespaces.
    sql`SELECT TRUE AS above, n.* FROM unnest(${namespaces.map(storedPath)}::text[]) AS o (path)
        CROSS JOIN LATERAL (SELECT ${columns} WHERE x.family = 0 AND x.path = o.path OFFSET 0) AS n
      UNION ALL SELECT FALSE AS above, ${columns} WHERE x.id = ANY(${ids}::uuid[])`,
  );
  const above = new Map<NamespacePath, Found>();
  const records = new Map<string, Found>();
  for (const { path, above: isAbove, ...row } of rows) {
    // Nobody may refer to a place with an invalid stored path.
    const stored = canonicalize(path);
    if (!stored.ok) continue;
    const found = { ...row, namespace: stored.path };
    if (isAbove) above.set(stored.path, found);
    else records.set(row.id, found);
  }
  return { namespaces: above, records };
}

export function instant(at: Instant): Fragment {
  return sql`${formatInstant(at)}::timestamptz`;
}
