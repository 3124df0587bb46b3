// Brings a store up to this release. Everything happens in one transaction under a lock. So of several processes that
// start at once, one migrates and the others find it done, and a process that dies leaves nothing half-done and no lock
// behind.
import type { Knex } from 'knex';
import type { Database } from './database.js';
import { type EarlierStore, findEarlier, moveEarlier } from './earlier-schema.js';
import { sqlStateOf, StoreError } from './failures.js';
import { records } from './migrations/0001-records.js';
import { keysAndSecrets } from './migrations/0002-keys-and-secrets.js';
import { queryIndexes } from './migrations/0003-query-indexes.js';
import { ancestorIndexes } from './migrations/0004-ancestor-indexes.js';
import { ownSchema } from './migrations/0005-own-schema.js';
import { keptAnswers } from './migrations/0006-kept-answers.js';
import { auditOutbox } from './migrations/0007-audit-outbox.js';
import { activations } from './migrations/0009-activations.js';
import { storedSnapshots } from './migrations/0010-stored-snapshots.js';
import { gateways } from './migrations/0011-gateways.js';
import { decideKeys } from './migrations/0012-decide-keys.js';
import { placesOfLogs } from './migrations/0013-places-of-logs.js';
import { monitorKeys } from './migrations/0014-monitor-keys.js';
import { SCHEMA } from './session-settings.js';
import { type Fragment, rowsOf, sql } from './sql.js';

interface StoreMigration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
}

/** In order. The list is append-only: a released migration is never edited, but corrected by a later one. */
export const MIGRATIONS: readonly StoreMigration[] = Object.freeze([
  { name: '0001-records', up: records },
  { name: '0002-keys-and-secrets', up: keysAndSecrets },
  { name: '0003-query-indexes', up: queryIndexes },
  { name: '0004-ancestor-indexes', up: ancestorIndexes },
  { name: '0005-own-schema', up: ownSchema },
  { name: '0006-kept-answers', up: keptAnswers },
  { name: '0007-audit-outbox', up: auditOutbox },
  { name: '0009-activations', up: activations },
  { name: '0010-stored-snapshots', up: storedSnapshots },
  { name: '0011-gateways', up: gateways },
  { name: '0012-decide-keys', up: decideKeys },
  { name: '0013-places-of-logs', up: placesOfLogs },
  { name: '0014-monitor-keys', up: monitorKeys },
]);

const TABLE = 'schema_migrations';

// An arbitrary number for our advisory lock.
const LOCK = 7_214_903;

/**
 * Runs the migrations that this store lacks, and returns their names; empty if it was up to date. A store of an earlier
 * release is moved into our schema first. Throws `store.version` for a newer store, and `store.foreign` if our names
 * are taken.
 */
export async function migrate(db: Database): Promise<readonly string[]> {
  // Most starts find nothing to do and take no lock.
  if ((await pendingMigrations(db)).length === 0) return [];
  return db.transaction(async (transaction) => {
    await transaction.raw("SELECT set_config('statement_timeout', ?, true)", ['0']);
    // On the embedded store a transaction has the engine to itself, and this lock is granted at once.
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
    const { applied, earlier } = await findStore(transaction);
    const pending = pendingOf(applied);
    if (pending.length === 0) return [];
    await createSchema(transaction);
    if (earlier !== null) await moveEarlier(transaction, earlier);
    await run(transaction);
    return pending;
  });
}

/** The names of the migrations that this store lacks, in order. Throws `store.version` for a newer store. */
export async function pendingMigrations(db: Database): Promise<readonly string[]> {
  try {
    return pendingOf((await db.transaction(findStore)).applied);
  } catch (error) {
    // This reads without the lock, so another process may move the list away after it was found. The list is in our
    // schema then.
    if (sqlStateOf(error) !== UNDEFINED_TABLE) throw error;
    return pendingOf((await db.transaction(findStore)).applied);
  }
}

const UNDEFINED_TABLE = '42P01';

interface FoundStore {
  readonly applied: readonly string[];
  /** The store of a release that kept its tables elsewhere. */
  readonly earlier: EarlierStore | null;
}

async function findStore(transaction: Knex.Transaction): Promise<FoundStore> {
  // Uses a query, not to_regclass. Only queries see what another process committed while this one waited for the lock;
  // a name that was looked up before stays unknown for the rest of the transaction.
  const isMigrated = await isThere(
    transaction,
    sql`SELECT 1 FROM pg_tables WHERE schemaname = ${SCHEMA} AND tablename = ${TABLE}`,
  );
  if (!isMigrated) {
    const earlier = await findEarlier(transaction);
    return { applied: earlier?.applied ?? [], earlier };
  }
  const { rows } = await transaction.raw<{ rows: readonly { name: string }[] }>('SELECT name FROM ??.?? ORDER BY id', [
    SCHEMA,
    TABLE,
  ]);
  return { applied: rows.map(({ name }) => name), earlier: null };
}

/**
 * Checks first whether the schema exists. Creating one takes a privilege that its owner need not have, even if it
 * exists already.
 */
async function createSchema(transaction: Knex.Transaction): Promise<void> {
  if (await isThere(transaction, sql`SELECT 1 FROM pg_namespace WHERE nspname = ${SCHEMA}`)) return;
  await transaction.raw('CREATE SCHEMA ??', [SCHEMA]);
}

async function isThere(transaction: Knex.Transaction, query: Fragment): Promise<boolean> {
  return (await rowsOf(transaction, query)).length > 0;
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
