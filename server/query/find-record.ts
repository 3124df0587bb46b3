// The doors of the store for single records: where one is, and nothing else of it; and the record itself, which as in records.ts
// is read through a row predicate alone, so that an answer never holds what was not decided to be visible.
//
// By id there are two statements with the decision between them. Where a record is takes one look at the primary key and reads
// neither properties nor anything else that can be large, so that time does not tell a record that is invisible from none.
import { canonicalize, type Family, type NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { recordJson } from './projection.js';
import { visibleRanges, visibleRows, type RowPredicate } from './row-predicate.js';

export interface FoundRecord {
  /** As a query shows it that selects nothing: a JSON text. */
  readonly json: string;
  readonly revision: number;
}

/** A record by what it is; `id` is a UUID in any case. */
export interface RecordKey {
  readonly family: Family;
  readonly id: string;
}

/**
 * The namespace of a record, archived or not; null if there is none of this family. An invalid stored path counts as
 * no record: nobody can be allowed anything there (docs/meaning.md "Decisions", step 1). Says nothing about who may
 * know.
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

/** Always one row, since one row more or less would show in the time. Exported for its tests, like the two below. */
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

/** Fenced, so that no other index is walked for it, which would be as long as a namespace has records. */
function byPrimaryKey({ family, id }: RecordKey, columns: Fragment): Fragment {
  return sql`(SELECT ${columns} FROM records AS r WHERE r.id = ${id}::uuid AND r.family = ${familyCode(family)}::smallint OFFSET 0)`;
}

function shown(family: Family, rows: Fragment): Fragment {
  return sql`SELECT ${recordJson(family, null)} AS json, x.revision AS revision FROM ${rows} AS x`;
}

async function firstOf(db: Database, statement: Fragment, signal?: AbortSignal): Promise<FoundRecord | null> {
  const [row] = await db.read<FoundRecord>(statement, { signal });
  return row ?? null;
}
