// The doors of the store for single records. One finds where a record is and tells nothing else about it. The other
// reads the record, as in records.ts only through a row predicate, so that an answer never holds what was not decided
// to be visible.
//
// Reading by id takes two statements, with the decision between them. The first looks at the primary key once and reads
// neither properties nor anything else that can be large, so timing does not tell an invisible record from a missing
// one.
import { canonicalize, type Family, type NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode, outsideIndexes } from '../db/tables.js';
import { recordJson } from './projection.js';
import { visibleRanges, visibleRows, type RowPredicate } from './row-predicate.js';

export interface FoundRecord {
  readonly id: string;
  /** The JSON text of the whole record, as a query without `select` shows it. */
  readonly json: string;
  readonly revision: number;
}

/** What a record is found by. `id` is a UUID in upper or lower case. */
export interface RecordKey {
  readonly family: Family;
  readonly id: string;
}

/**
 * The namespace of a record, archived or not; null if this family has no such record. An invalid stored path counts as
 * no record, because nobody can be allowed anything there (docs/meaning.md "Decisions", step 1). The caller decides who
 * may know the answer.
 */
export async function namespaceOfRecord(
  db: Database,
  key: RecordKey,
  signal?: AbortSignal,
): Promise<NamespacePath | null> {
  const [row] = await db.read<{ readonly path: string | null }>(locateStatement(key), { signal });
  const stored = canonicalize(row?.path);
  return stored.ok ? stored.path : null;
}

/** The record of that id, archived or not, if it is visible. */
export async function findRecord(db: Database, request: RecordRequest): Promise<FoundRecord | null> {
  return firstOf(db, recordStatement(request), request.signal);
}

/** The record of the namespace that the predicate opens, archived or not; null if there is none. */
export async function findNamespace(
  db: Database,
  predicate: RowPredicate,
  signal?: AbortSignal,
): Promise<FoundRecord | null> {
  return firstOf(db, namespaceStatement(predicate), signal);
}

interface RecordRequest extends RecordKey {
  readonly predicate: RowPredicate;
  readonly signal?: AbortSignal | undefined;
}

/** Always gives one row, because a missing row would show in the timing. Exported for its tests, like the two below. */
export function locateStatement(key: RecordKey): Fragment {
  return sql`SELECT (SELECT x.path FROM ${byPrimaryKey(key, sql`r.path`)} AS x) AS path`;
}

export function recordStatement({ predicate, ...key }: RecordRequest): Fragment {
  return sql`${shown(key.family, byPrimaryKey(key, sql`r.*`))}
    WHERE EXISTS (SELECT 1 FROM ${visibleRanges(predicate)} WHERE x.path >= v.lo AND x.path < v.hi)`;
}

export function namespaceStatement(predicate: RowPredicate): Fragment {
  return shown('namespace', visibleRows({ predicate, family: 'namespace', includeArchived: true }, sql`r.*`));
}

/**
 * Fenced, so that the planner cannot walk another index instead, which would take as long as the namespace has records.
 * No index can be used for IS NOT DISTINCT FROM: one that begins with the family would take as long as that has records.
 * And none can be read from end to end in place of the primary key (`outsideIndexes`).
 */
function byPrimaryKey({ family, id }: RecordKey, columns: Fragment): Fragment {
  return sql`(SELECT ${columns} FROM records AS r WHERE r.id = ${id}::uuid AND r.family IS NOT DISTINCT FROM ${familyCode(family)}::smallint
    AND ${outsideIndexes(sql`r`)} OFFSET 0)`;
}

function shown(family: Family, rows: Fragment): Fragment {
  return sql`SELECT ${recordJson(family, null)} AS json, x.revision AS revision, x.id::text AS id FROM ${rows} AS x`;
}

async function firstOf(db: Database, statement: Fragment, signal?: AbortSignal): Promise<FoundRecord | null> {
  const [row] = await db.read<FoundRecord>(statement, { signal });
  return row ?? null;
}
