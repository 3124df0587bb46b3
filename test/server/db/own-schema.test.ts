// Everything of ours is in a schema of our own: what another application
// keeps in the same database under the same names is neither read nor touched.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../server/db/database.js';
import { migrate, pendingMigrations } from '../../../server/db/migrate.js';
import { readSecrets } from '../../../server/db/secrets.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { type OpenedStore, testStores } from '../../support/stores.js';

const MIGRATIONS = [
  '0001-store',
  '0002-changes',
  '0003-tombstones',
  '0004-unique-names',
  '0005-newest',
  '0006-derived-tables',
  '0007-confirmations',
  '0008-templates-by-id',
];

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

    async function found(text: string, bindings: readonly string[] = []): Promise<readonly unknown[]> {
      const { rows } = await db.knex.raw<{ rows: readonly unknown[] }>(text, bindings);
      return rows;
    }

    const tablesOf = (schema: string): Promise<readonly unknown[]> =>
      found('SELECT relname::text AS name FROM pg_class WHERE relnamespace = ?::regnamespace ORDER BY 1', [schema]);

    it('is made by migrations where there is none, with all that is ours', async () => {
      expect(await migrate(db)).toEqual(MIGRATIONS);
      expect(await tablesOf('public')).toEqual([]);
      expect(await tablesOf('bailiwick')).toContainEqual({ name: 'records' });
    });

    it('counts records, wherever whoever writes them searches by himself', async () => {
      await migrate(db);
      await inTransaction(db.knex, async (trx) => {
        await trx.raw('SET LOCAL search_path TO public, bailiwick');
        await trx.raw(`INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
          VALUES (gen_random_uuid(), 0, '/b/', 'x', '{}', 1, now(), now(), 'test')`);
      });
      expect(await found('SELECT path, sum(active)::int AS n FROM record_counts GROUP BY path ORDER BY path')).toEqual(
        ['/', '/b/'].map((path) => ({ path, n: 1 })),
      );
    });

    it('is not one whose migrations are not those of this release', async () => {
      await migrate(db);
      await db.knex.raw("UPDATE schema_migrations SET name = '0001-records'");
      await expect(migrate(db)).rejects.toMatchObject({ code: 'store.version' });
    });

    it('lets tables of others be that have our names', async () => {
      await db.knex.raw(`CREATE TABLE public.api_keys (token text); INSERT INTO public.api_keys VALUES ('theirs');
        CREATE TABLE public.records (song text); CREATE TABLE public.secrets (name text, value bytea, created_at timestamptz);
        CREATE TABLE public.schema_migrations (version varchar PRIMARY KEY); INSERT INTO public.schema_migrations VALUES ('2024')`);
      const before = await tablesOf('public');
      expect(await pendingMigrations(db)).toEqual(MIGRATIONS);
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
  });
}
