// The counters that unfiltered counts add up: they equal the records in every snapshot, whatever happens to the records
// and however many write at once.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Knex } from 'knex';
import { canonicalize, type Visible } from '../../../engine/index.js';
import { openDatabase } from '../../../server/db/database.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { parseQuery } from '../../support/parse-query.js';
import { countRecords } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeOnStores } from '../../support/stores.js';
import { testRuns } from '../../support/test-runs.js';
import { hostileRecords, plant } from './hostile-records.js';

/** Families and namespaces whose counters do not add up to their records. */
async function differences(knex: Knex): Promise<readonly unknown[]> {
  const { rows } = await knex.raw<{ rows: readonly unknown[] }>(`
    SELECT * FROM (SELECT family, path, sum(active)::int AS active, sum(archived)::int AS archived
        FROM record_counts GROUP BY family, path) AS c
      FULL JOIN (SELECT family, path, count(*) - count(archived_at) AS active, count(archived_at) AS archived
        FROM records GROUP BY family, path) AS r USING (family, path)
    WHERE COALESCE(c.active, 0) <> COALESCE(r.active, 0) OR COALESCE(c.archived, 0) <> COALESCE(r.archived, 0)`);
  return rows;
}

let serial = 0;

function insert(knex: Knex, paths: readonly string[], archived = false): Promise<unknown> {
  const ids = paths.map(() => `01900000-0000-7000-9000-${(serial += 1).toString(16).padStart(12, '0')}`);
  return knex.raw(
    `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, archived_at)
     SELECT id, 2, path, 'n', '{}', 1, now(), now(), 'test', CASE WHEN ?::boolean THEN now() END
     FROM unnest(?::uuid[], ?::text[]) AS i (id, path)`,
    [archived, ids, [...paths]],
  );
}

const PATHS = ['/', '/a/', '/a/b/', '/a-b/', '/c/'];

describeOnStores('the counters', (store) => {
  const count = (visible: Visible, includeArchived: boolean): Promise<number> =>
    countRecords(store.db, {
      predicate: rowPredicate(visible),
      plan: parseQuery({ family: 'resource', namespace: '/', includeArchived }, 'count'),
    });

  it('stay equal through inserts, archiving, moves, deletes, upserts and failures', async () => {
    const some = fc.uniqueArray(fc.constantFrom(...PATHS), { minLength: 1, maxLength: 4 });
    const steps: Readonly<Record<string, (knex: Knex, paths: readonly string[]) => Promise<unknown>>> = {
      insert: (knex, paths) => insert(knex, [...paths, ...paths]),
      insertArchived: (knex, paths) => insert(knex, paths, true),
      archive: (knex, paths) =>
        knex.raw('UPDATE records SET archived_at = now() WHERE family = 2 AND path = ANY(?)', [[...paths]]),
      restore: (knex, paths) => knex.raw('UPDATE records SET archived_at = NULL WHERE path = ANY(?)', [[...paths]]),
      move: (knex, paths) =>
        knex.raw('UPDATE records SET path = ? WHERE family = 2 AND path = ANY(?)', ['/moved/', [...paths]]),
      touch: (knex) => knex.raw('UPDATE records SET revision = revision + 1 WHERE revision < ?', [1000]),
      delete: (knex, paths) => knex.raw('DELETE FROM records WHERE family = 2 AND path = ANY(?)', [[...paths]]),
      upsert: (knex) =>
        knex.raw(
          `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
             SELECT id, 2, '/a/', 'u', '{}', 1, now(), now(), 'test' FROM records WHERE family = 2
             ON CONFLICT (id) DO UPDATE SET path = ?`,
          ['/upserted/'],
        ),
      nothing: (knex) => knex.raw('DELETE FROM records WHERE path = ?', ['/nowhere/']),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...Object.keys(steps)), some, fc.boolean()), { maxLength: 8 }),
        async (history) => {
          for (const [name, paths, fails] of history) {
            const step = steps[name];
            if (step === undefined) throw new Error(name);
            const work = inTransaction(store.db.knex, async (trx) => {
              await step(trx, paths);
              if (fails) throw new Error('on purpose');
            });
            await (fails ? expect(work).rejects.toThrow('on purpose') : work);
          }
          expect(await differences(store.db.knex)).toEqual([]);
        },
      ),
      testRuns(25),
    );
  });

  it('are what an unfiltered count answers, archived records apart', async () => {
    await store.db.knex.raw('DELETE FROM records WHERE family = ?', [2]);
    await plant(store.db, hostileRecords());
    const path = canonicalize('/a');
    if (!path.ok) throw new Error('no path');
    const sets: readonly Visible[] = [
      { kind: 'all' },
      { kind: 'some', exact: [path.path], subtrees: [] },
      { kind: 'some', exact: [], subtrees: [path.path] },
    ];
    for (const set of sets) {
      for (const includeArchived of [true, false]) {
        const plan = parseQuery(
          { family: 'resource', namespace: '/', includeArchived, where: { id: { isNull: false } } },
          'count',
        );
        const read = await countRecords(store.db, { predicate: rowPredicate(set), plan });
        expect(read).toBeGreaterThan(0);
        expect(await count(set, includeArchived)).toBe(read);
      }
    }
  });

  it('are empty after a TRUNCATE', async () => {
    await expect(
      inTransaction(store.db.knex, async (trx) => {
        await trx.raw('TRUNCATE records');
        expect(await differences(trx)).toEqual([]);
        throw new Error('undone');
      }),
    ).rejects.toThrow('undone');
    expect(await differences(store.db.knex)).toEqual([]);
  });

  it('stay equal while many write to one namespace, and change with the transaction that changes it', async () => {
    const others = await Promise.all([1, 2, 3].map(() => openDatabase(store.config)));
    try {
      const all: Visible = { kind: 'all' };
      const before = await count(all, true);
      await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          inTransaction((others[index % 3] ?? store.db).knex, async (trx) => {
            await insert(trx, ['/hot/', '/hot/', `/cold-${String(index % 5)}/`]);
            if (index % 4 === 0) throw new Error('on purpose');
          }).catch((error: unknown) => {
            if (!String(error).includes('on purpose')) throw error;
          }),
        ),
      );
      expect(await differences(store.db.knex)).toEqual([]);
      expect((await count(all, true)) - before).toBe(18 * 3);
      // Of what one transaction has not committed another sees nothing, in records and counters alike.
      if (store.name === 'postgres') {
        await inTransaction(store.db.knex, async (trx) => {
          await insert(trx, ['/hot/']);
          expect(await differences(others[0]?.knex ?? store.db.knex)).toEqual([]);
          // Nor does it wait: the counter that the first one holds is passed over.
          await insert(others[0]?.knex ?? store.db.knex, ['/hot/']);
        });
        expect(await differences(store.db.knex)).toEqual([]);
        const { rows } = await store.db.knex.raw<{ rows: readonly { slots: number }[] }>(
          'SELECT count(*)::int AS slots FROM record_counts WHERE path = ?',
          ['/hot/'],
        );
        expect(rows[0]?.slots).toBeGreaterThan(1);
      }
    } finally {
      await Promise.all(others.map((other) => other.close()));
    }
  });
});
