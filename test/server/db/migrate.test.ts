// Migrations: they run once, in order, by one of many starters, all or nothing, and never on a store of a newer
// release.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalize } from '../../../engine/index.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { migrate, pendingMigrations } from '../../../server/db/migrate.js';
import { readSecrets } from '../../../server/db/secrets.js';
import { deriveId, nameDigest } from '../../../server/load/record-id.js';
import { testStores, type OpenedStore } from '../../support/stores.js';

const ALL = [
  '0001-store',
  '0002-changes',
  '0003-tombstones',
  '0004-unique-names',
  '0005-newest',
  '0006-derived-tables',
  '0007-confirmations',
  '0008-templates-by-id',
];

// One store from its first start on: each test goes on where the one before it stopped.
for (const store of testStores()) {
  describe(`migrations on the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    beforeAll(async () => {
      opened = await store.openEmpty();
      db = opened.database;
    });
    afterAll(() => opened.dispose());

    it('leave nothing when one of their statements fails', async () => {
      // After the records, a table is taken.
      await db.knex.raw('CREATE SCHEMA IF NOT EXISTS bailiwick; CREATE TABLE bailiwick.secrets (name text)');
      await expect(migrate(db)).rejects.toThrow();
      expect(await pendingMigrations(db)).toEqual(ALL);
      const { rows } = await db.knex.raw<{ rows: unknown[] }>("SELECT to_regclass('records') AS records");
      expect(rows).toEqual([{ records: null }]);
      await db.knex.raw('DROP TABLE secrets');
    });

    it('run once, however many start together', async () => {
      const other = await openDatabase(opened.config);
      try {
        const runs = await Promise.all([db, other, db, other].map(migrate));
        expect(runs.flat()).toEqual(ALL);
        expect(await pendingMigrations(other)).toEqual([]);
        expect(await migrate(other)).toEqual([]);
      } finally {
        await other.close();
      }
    });

    it('leave the root, implied, under the id that a dataset would give it', async () => {
      const root = canonicalize('/');
      if (!root.ok) throw new Error('no root');
      const id = deriveId(nameDigest({ family: 'namespace', namespace: root.path, name: '/', version: null }), 0);
      const { rows } = await db.knex.raw<{ rows: unknown[] }>('SELECT id, family, path, name, implied FROM records');
      expect(rows).toEqual([{ id, family: 0, path: '/', name: '/', implied: true }]);
    });

    it('make secrets that every process reads alike', async () => {
      const [first, ...rest] = await Promise.all([1, 2, 3, 4].map(() => readSecrets(db)));
      expect(first?.cursor).toHaveLength(32);
      expect(first?.cursor).not.toEqual(first?.fingerprint);
      expect(rest).toEqual([first, first, first]);
    });

    it.each(['', '00', 'ab'.repeat(31)])('O11 begin with no secret that is too short: "%s"', async (hex) => {
      const { cursor } = await readSecrets(db);
      const put = (bytes: Uint8Array): Promise<unknown> =>
        db.knex.raw("UPDATE secrets SET value = ? WHERE name = 'cursor'", [Buffer.from(bytes)]);
      // The store itself refuses it, or whoever reads it does.
      await expect(put(Buffer.from(hex, 'hex')).then(() => readSecrets(db))).rejects.toThrow(/secret/);
      await put(cursor);
    });

    it('refuse a store that a newer release has migrated', async () => {
      await db.knex('schema_migrations').insert({ name: '0099-of-the-future', batch: 2 });
      await expect(migrate(db)).rejects.toMatchObject({ code: 'store.version' });
      await expect(pendingMigrations(db)).rejects.toMatchObject({ code: 'store.version' });
    });
  });
}
