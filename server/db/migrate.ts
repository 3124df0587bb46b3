// Brings a store up to this release. Everything happens in one transaction under a lock. So of several processes that
// start at once, one migrates and the others find it done, and a process that dies leaves nothing half-done and no lock
// behind.
import type { Knex } from 'knex';
import type { Database } from './database.js';
import { sqlStateOf, StoreError } from './failures.js';
import { store } from './migrations/0001-store.js';
import { changes } from './migrations/0002-changes.js';
import { tombstones } from './migrations/0003-tombstones.js';
import { uniqueNames } from './migrations/0004-unique-names.js';
import { newest } from './migrations/0005-newest.js';
import { derivedTables } from './migrations/0006-derived-tables.js';
import { confirmations } from './migrations/0007-confirmations.js';
import { templatesById } from './migrations/0008-templates-by-id.js';
import { SCHEMA } from './session-settings.js';
import { rowsOf, sql } from './sql.js';
import type { Rows } from './writing.js';

interface StoreMigration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
}

/** In order. The list is append-only: a released migration is never edited, but corrected by a later one. */
const MIGRATIONS: readonly StoreMigration[] = Object.freeze([
  { name: '0001-store', up: store },
  { name: '0002-changes', up: changes },
  { name: '0003-tombstones', up: tombstones },
  { name: '0004-unique-names', up: uniqueNames },
  { name: '0005-newest', up: newest },
  { name: '0006-derived-tables', up: derivedTables },
  { name: '0007-confirmations', up: confirmations },
  { name: '0008-templates-by-id', up: templatesById },
]);

const TABLE = 'schema_migrations';

// An arbitrary number for our advisory lock.
const LOCK = 7_214_903;

/**
 * Runs the migrations that this store lacks, and returns their names; empty if it was up to date. Throws `store.version`
 * for a store that another release migrated, and `store.foreign` if our names are taken.
 */
export async function migrate(db: Database): Promise<readonly string[]> {
  // Most starts find nothing to do and take no lock.
  if ((await pendingMigrations(db)).length === 0) return [];
  return holdSchema(db, async (transaction) => {
    const pending = pendingOf(await findApplied((statement) => rowsOf(transaction, statement)));
    if (pending.length === 0) return [];
    await createSchema(transaction);
    await run(transaction);
    return pending;
  });
}

/** A transaction without a time limit, in which nobody else changes the schema. */
export function holdSchema<T>(db: Database, work: (transaction: Knex.Transaction) => Promise<T>): Promise<T> {
  return db.transaction(async (transaction) => {
    await transaction.raw("SELECT set_config('statement_timeout', ?, true)", ['0']);
    // On the embedded store a transaction has the engine to itself, and this lock is granted at once.
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
    return work(transaction);
  });
}

/** The names of the migrations that this store lacks, in order. Throws `store.version` as `migrate` does. */
export async function pendingMigrations(db: Database): Promise<readonly string[]> {
  return pendingOf(await findApplied(db.rows));
}

/** The names of the migrations that this store has, in order. */
async function findApplied(read: Rows): Promise<readonly string[]> {
  // Uses a query, not to_regclass. Only queries see what another process committed while this one waited for the lock;
  // a name that was looked up before stays unknown for the rest of the transaction.
  const tables = await read(sql`SELECT 1 FROM pg_tables WHERE schemaname = ${SCHEMA} AND tablename = ${TABLE}`);
  if (tables.length === 0) return [];
  const rows = await read<{ readonly name: string }>(
    sql`SELECT name FROM bailiwick.schema_migrations WHERE id > ${0}::integer ORDER BY id`,
  );
  return rows.map(({ name }) => name);
}

/**
 * Checks first whether the schema exists. Creating one takes a privilege that its owner need not have, even if it
 * exists already.
 */
async function createSchema(transaction: Knex.Transaction): Promise<void> {
  if ((await rowsOf(transaction, sql`SELECT 1 FROM pg_namespace WHERE nspname = ${SCHEMA}`)).length > 0) return;
  await transaction.raw('CREATE SCHEMA ??', [SCHEMA]);
}

async function run(transaction: Knex.Transaction): Promise<void> {
  try {
    await transaction.migrate.latest({
      tableName: TABLE,
      migrationSource: {
        getMigrations: () => Promise.resolve([...MIGRATIONS]),
        getMigrationName: ({ name }: StoreMigration) => name,
        getMigration: ({ up }: StoreMigration) => Promise.resolve({ up, down: refuseDown }),
      },
    });
  } catch (cause) {
    if (!TAKEN.has(sqlStateOf(cause) ?? '')) throw cause;
    throw new StoreError(
      'store.foreign',
      `the schema ${SCHEMA} already has something with a name that bailiwick needs`,
      { cause },
    );
  }
}

/** duplicate_table (an index, too), duplicate_object, duplicate_function, duplicate_column */
const TAKEN: ReadonlySet<string> = new Set(['42P07', '42710', '42723', '42701']);

function pendingOf(applied: readonly string[]): readonly string[] {
  const known = MIGRATIONS.map(({ name }) => name);
  const unknown = applied.find((name, index) => name !== known[index]);
  if (unknown !== undefined) {
    throw new StoreError(
      'store.version',
      `another release migrated the store to ${unknown}, which this release does not know`,
    );
  }
  return known.slice(applied.length);
}

function refuseDown(): Promise<void> {
  return Promise.reject(new Error('migrations only go forward'));
}
