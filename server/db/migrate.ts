// Brings a store up to this release. Everything happens in one transaction under a lock, so of several starters one
// migrates and the others find it done, and a starter that dies leaves nothing half-way and no lock behind.
import type { Knex } from 'knex';
import type { Database } from './database.js';
import type { StoreMigration } from './migrations/migration.js';
import { MIGRATIONS } from './migrations/migrations.js';
import { StoreError } from './store-error.js';
import { inTransaction } from './transaction.js';

const TABLE = 'schema_migrations';

// A number of ours, as good as any.
const LOCK = 7_214_903;

/** Runs what this store lacks; the names of it, empty when it was up to date. Throws `store.version` for a newer store. */
export async function migrate(db: Database): Promise<readonly string[]> {
  // Most starts find nothing to do and take no lock.
  if ((await pendingMigrations(db)).length === 0) return [];
  return inTransaction(db.knex, async (transaction) => {
    await transaction.raw("SELECT set_config('statement_timeout', ?, true)", ['0']);
    // On the embedded store a transaction has the engine to itself, and this lock is granted at once.
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [LOCK]);
    const pending = pendingOf(await appliedMigrations(transaction));
    if (pending.length === 0) return [];
    await transaction.migrate.latest({
      tableName: TABLE,
      migrationSource: {
        getMigrations: () => Promise.resolve([...MIGRATIONS]),
        getMigrationName: ({ name }: StoreMigration) => name,
        getMigration: ({ up }: StoreMigration) => Promise.resolve({ up, down: refuseDown }),
      },
    });
    return pending;
  });
}

/** The names of the migrations that this store lacks, in order. Throws `store.version` for a newer store. */
export async function pendingMigrations(db: Database): Promise<readonly string[]> {
  return pendingOf(await appliedMigrations(db.knex));
}

async function appliedMigrations(knex: Knex): Promise<readonly string[]> {
  // By a query, not by to_regclass: what another starter committed while this one waited for the lock is seen by queries
  // only, a name that was looked up before stays unknown for the rest of the transaction.
  const { rows: found } = await knex.raw<{ rows: readonly { found: boolean }[] }>(
    'SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?) AS found',
    [TABLE],
  );
  if (found[0]?.found !== true) return [];
  const { rows } = await knex.raw<{ rows: readonly { name: string }[] }>('SELECT name FROM ?? ORDER BY id', [TABLE]);
  return rows.map(({ name }) => name);
}

function pendingOf(applied: readonly string[]): readonly string[] {
  const known = MIGRATIONS.map(({ name }) => name);
  const unknown = applied.find((name, index) => name !== known[index]);
  if (unknown !== undefined) {
    throw new StoreError(
      'store.version',
      `the store was migrated by another release, to ${unknown}, which this one does not know`,
    );
  }
  return known.slice(applied.length);
}

function refuseDown(): Promise<void> {
  return Promise.reject(new Error('migrations only go forward'));
}
