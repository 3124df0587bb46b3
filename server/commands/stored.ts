// The statements of commands on single records. The answer has the record's JSON in the usual form
// (query/projection.ts), and every change raises the record's revision.
import { canonicalize, type Family, formatInstant, type Instant, type NamespacePath } from '../../engine/index.js';
import { join, sql, type Fragment } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';
import { recordJson } from '../query/projection.js';
import type { Done, Found, NewRecord, Session } from './command.js';

export interface WrittenRecord {
  readonly id: string;
  readonly revision: number;
  readonly json: string;
}

/** Null if a namespace with that path already exists. */
export async function insertRecord(session: Session, record: NewRecord): Promise<WrittenRecord | null> {
  const [row] = await session.rows<WrittenRecord>(insertStatement(session, record, sql``));
  return row ?? null;
}

/** Inserts the record, as often as `from` has rows, and answers with a `WrittenRecord` if it did. */
export function insertStatement(
  session: Pick<Session, 'at' | 'actor'>,
  { id, family, namespace, content, copiedFrom }: NewRecord,
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

/** What was done when a new record was written. */
export function doneOf({ family, namespace }: NewRecord, written: WrittenRecord): Done {
  return { status: 201, family, namespace, ...written, untold: 'record' };
}

/** A record that nobody else can change for now. */
export interface LockedRecord {
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

const LOCKED = sql`x.id, x.path, x.revision, x.archived_at IS NOT NULL AS archived, x.template, x.name, x.unique_name AS "uniqueName"`;

/** `documents` are additional columns to read. */
export async function lockRecord(
  session: Session,
  which: Fragment,
  documents: readonly Fragment[],
): Promise<LockedRecord | null> {
  const [row] = await session.rows<LockedRecord>(
    sql`SELECT ${join([LOCKED, ...documents], ', ')} FROM records AS x WHERE ${which} FOR NO KEY UPDATE`,
  );
  return row ?? null;
}

export function byId(family: Family, id: string): Fragment {
  return sql`x.id = ${id}::uuid AND x.family = ${familyCode(family)}::smallint`;
}

export function byPath(namespace: NamespacePath): Fragment {
  return sql`x.family = 0 AND x.path = ${storedPath(namespace)}::text`;
}

/** Where a record of ours is: the namespace is the one that was decided. */
export interface Place {
  readonly family: Family;
  readonly namespace: NamespacePath;
}

/** Changes a locked record; `assignments` are columns with their values. */
export async function updateRecord(
  session: Session,
  { id, family, namespace }: Place & { readonly id: string },
  assignments: readonly Fragment[],
): Promise<Done> {
  // The clock of this gateway may be behind that of another.
  const always = sql`revision = x.revision + 1, updated_at = GREATEST(x.updated_at, ${instant(session.at)}), implied = false`;
  const [row] = await session.rows<WrittenRecord>(
    sql`UPDATE records AS x SET ${join([...assignments, always], ', ')} WHERE ${byId(family, id)}
      RETURNING x.id, x.revision, ${recordJson(family, null)} AS json`,
  );
  if (row === undefined) throw new TypeError('a locked record that is not there');
  return { status: 200, family, namespace, ...row, untold: 'record' };
}

/** The record in its present state. */
export async function readRecord(session: Session, { family, namespace }: Place, which: Fragment): Promise<Done> {
  const [row] = await session.rows<WrittenRecord>(
    sql`SELECT x.id, x.revision, ${recordJson(family, null)} AS json FROM records AS x WHERE ${which}`,
  );
  if (row === undefined) throw new TypeError('a record that was there and is not any more');
  return { status: 200, family, namespace, ...row, untold: 'record' };
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
