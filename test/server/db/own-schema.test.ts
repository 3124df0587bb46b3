// Everything of ours is in a schema of our own: a store of an earlier release is brought there whole, and what another application
// keeps in the same database under the same names is neither read nor touched.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { migrate, MIGRATIONS, pendingMigrations } from '../../../server/db/migrate.js';
import { readSecrets } from '../../../server/db/secrets.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const EARLIER = 4;

for (const store of testStores()) {
  describe(`the schema of the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    beforeEach(async () => {
      opened = await store.openEmpty();
      db = opened.database;
      await db.knex.raw('DROP SCHEMA IF EXISTS bailiwick CASCADE');
    });
    afterEach(() => opened.dispose());

    /** In `schema`, as releases before 0005 migrated a store: the first `count` migrations. */
    async function migrateEarlier(schema: string, count = EARLIER): Promise<void> {
      await inTransaction(db.knex, async (transaction) => {
        await transaction.raw('SET LOCAL search_path TO ??', [schema]);
        await transaction.migrate.latest({
          tableName: 'schema_migrations',
          migrationSource: {
            getMigrations: () => Promise.resolve(MIGRATIONS.slice(0, count)),
            getMigrationName: ({ name }: (typeof MIGRATIONS)[number]) => name,
            getMigration: ({ up }: (typeof MIGRATIONS)[number]) =>
              Promise.resolve({ up, down: () => Promise.resolve() }),
          },
        });
      });
    }

    async function found(text: string, bindings: readonly string[] = []): Promise<readonly unknown[]> {
      const { rows } = await db.knex.raw<{ rows: readonly unknown[] }>(text, bindings);
      return rows;
    }

    const tablesOf = (schema: string): Promise<readonly unknown[]> =>
      found('SELECT relname::text AS name FROM pg_class WHERE relnamespace = ?::regnamespace ORDER BY 1', [schema]);

    async function insertRecord(knex: Knex, path: string): Promise<void> {
      await knex.raw(
        `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
         VALUES (gen_random_uuid(), 0, ?, 'x', '{}', 1, now(), now(), 'test')`,
        [path],
      );
    }

    it('is made by migrations where there is none, with all that is ours', async () => {
      expect(await migrate(db)).toHaveLength(MIGRATIONS.length);
      expect(await tablesOf('public')).toEqual([]);
      expect(await tablesOf('bailiwick')).toContainEqual({ name: 'records' });
    });

    it.each([2, EARLIER])('takes a store of %d migrations over whole, once', async (count) => {
      await migrateEarlier('public', count);
      await inTransaction(db.knex, async (trx) => {
        await trx.raw('SET LOCAL search_path TO public');
        await insertRecord(trx, '/a/');
        if (count < 2) return;
        await trx.raw(`INSERT INTO secrets VALUES ('cursor', decode(repeat('01', 32), 'hex'), now()),
          ('fingerprint', decode(repeat('02', 32), 'hex'), now())`);
        await trx.raw(`INSERT INTO api_keys (id, actor, secret_hash, identities, admin, created_at)
          VALUES ('k', 'ada', '\\\\x00', '[]', false, now())`);
      });
      const before = await found('SELECT r::text AS row FROM public.records AS r ORDER BY path');
      expect(await pendingMigrations(db)).toEqual(MIGRATIONS.slice(count).map(({ name }) => name));
      const runs = await Promise.all([migrate(db), migrate(db)]);
      expect(runs.flat()).toEqual(MIGRATIONS.slice(count).map(({ name }) => name));
      expect(await pendingMigrations(db)).toEqual([]);
      expect(await tablesOf('public')).toEqual([]);
      expect(await found('SELECT r::text AS row FROM records AS r ORDER BY path')).toEqual(before);
      expect(await found('SELECT name FROM schema_migrations ORDER BY id')).toEqual(
        MIGRATIONS.map(({ name }) => ({ name })),
      );
      if (count >= 2) {
        expect((await readSecrets(db)).cursor).toEqual(new Uint8Array(32).fill(1));
        expect(await found('SELECT id FROM api_keys')).toEqual([{ id: 'k' }]);
      }
      // The counters are those of all records, and go on counting, wherever whoever writes searches by himself.
      await inTransaction(db.knex, async (trx) => {
        await trx.raw('SET LOCAL search_path TO public, bailiwick');
        await insertRecord(trx, '/b/');
      });
      expect(await found('SELECT path, sum(active)::int AS n FROM record_counts GROUP BY path ORDER BY path')).toEqual(
        ['/', '/a/', '/b/'].map((path) => ({ path, n: 1 })),
      );
    });

    it('lets tables of others be that have our names', async () => {
      await db.knex.raw(`CREATE TABLE public.api_keys (token text); INSERT INTO public.api_keys VALUES ('theirs');
        CREATE TABLE public.records (song text); CREATE TABLE public.secrets (name text, value bytea, created_at timestamptz);
        CREATE TABLE public.schema_migrations (version varchar PRIMARY KEY); INSERT INTO public.schema_migrations VALUES ('2024')`);
      const before = await tablesOf('public');
      expect(await pendingMigrations(db)).toEqual(MIGRATIONS.map(({ name }) => name));
      await migrate(db);
      expect(await tablesOf('public')).toEqual(before);
      expect(await found('SELECT * FROM public.api_keys')).toEqual([{ token: 'theirs' }]);
      expect(await found('SELECT * FROM public.schema_migrations')).toEqual([{ version: '2024' }]);
      expect(await found('SELECT id FROM api_keys')).toEqual([]);
      await expect(readSecrets(db)).resolves.toBeDefined();
    });

    it('does not take the list of another application that also uses knex for ours', async () => {
      await db.knex
        .raw(`CREATE TABLE public.schema_migrations (id serial, name varchar, batch int, migration_time timestamptz);
        INSERT INTO public.schema_migrations (name, batch) VALUES ('0001-songs', 1); CREATE TABLE public.records (song text)`);
      await migrate(db);
      expect(await found('SELECT name FROM public.schema_migrations')).toEqual([{ name: '0001-songs' }]);
    });

    it('is not made of tables that are not what our migrations made', async () => {
      await migrateEarlier('public');
      await db.knex.raw('ALTER TABLE public.api_keys RENAME TO our_keys; CREATE TABLE public.api_keys (token text)');
      await expect(migrate(db)).rejects.toMatchObject({ code: 'store.foreign' });
      expect(await tablesOf('public')).toContainEqual({ name: 'records' });
    });

    it('is refused where somebody else has something of our names in it, and left as it was', async () => {
      await db.knex.raw('CREATE SCHEMA bailiwick; CREATE TABLE bailiwick.secrets (theirs text)');
      await expect(migrate(db)).rejects.toMatchObject({ name: 'StoreError', code: 'store.foreign' });
      expect(await tablesOf('bailiwick')).toEqual([{ name: 'secrets' }]);
    });

    it('knows a store that a newer release has migrated, and says so', async () => {
      await migrate(db);
      await db.knex.raw("INSERT INTO schema_migrations (name, batch) VALUES ('0099-of-the-future', 2)");
      await expect(migrate(db)).rejects.toMatchObject({ code: 'store.version' });
    });

    if (store.name === 'postgres') {
      it('takes the store over from the schema that the connection searches first, and lets its readers in', async () => {
        await db.knex.raw('CREATE SCHEMA theirs; CREATE ROLE bailiwick_reader');
        await db.knex.raw(
          `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = theirs, public', current_database()); END $$`,
        );
        await migrateEarlier('theirs');
        await db.knex.raw(
          'GRANT USAGE ON SCHEMA theirs TO bailiwick_reader; GRANT SELECT ON theirs.records TO bailiwick_reader',
        );
        const again = await openDatabase(opened.config);
        try {
          expect(await migrate(again)).toEqual(MIGRATIONS.slice(EARLIER).map(({ name }) => name));
        } finally {
          await again.close();
        }
        expect(await tablesOf('theirs')).toEqual([]);
        expect(
          await found(`SELECT has_schema_privilege('bailiwick_reader', 'bailiwick', 'USAGE') AS enters,
            has_table_privilege('bailiwick_reader', 'bailiwick.records', 'SELECT') AS reads,
            has_table_privilege('bailiwick_reader', 'bailiwick.records', 'INSERT') AS writes`),
        ).toEqual([{ enters: true, reads: true, writes: false }]);
        await db.knex.raw('DROP OWNED BY bailiwick_reader; DROP ROLE bailiwick_reader');
      });
    }
  });
}
