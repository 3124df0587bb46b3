// Migration 0004 and the code that asks of its indexes have to say the same, each in its own words: the expressions of the keys, the
// levels and orders there are, who may lack a name. On a new store and on one that held records before.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Family, type NamespacePath, type Visible } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { rowsOf, sql } from '../../../server/db/sql.js';
import { familyCode, storedPath } from '../../../server/db/tables.js';
import { ancestorKey, KEYED_LEVELS, rootKeys } from '../../../server/query/ancestor-keys.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { planOf } from '../../support/query-plans.js';
import { readPage } from '../../support/query-shapes.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { path } from './asked-pages.js';
import { hostileRecords, plant } from './hostile-records.js';
import { inOrder, type Json } from './oracle/evaluate.js';

const ORDERS: readonly (readonly [suffix: string, body: Json])[] = [
  ['id', {}],
  ['created', { orderBy: [{ createdAt: 'desc' }] }],
  ['name', { orderBy: [{ name: 'asc' }] }],
];
const LEVELS = Array.from({ length: KEYED_LEVELS + 1 }, (_, level) => level);

/** Of every depth from 0 to two beyond those that have keys, with segments that are one another's beginnings. */
const CHAIN = ['', '/a', '/a/a', '/a/a/a-a', '/a/a/a-a/0', '/a/a/a-a/0/~', '/a/a/a-a/0/~/f', '/a/a/a-a/0/~/f/g'];
const PLACES = ['/', ...CHAIN.slice(1), '/aa', '/a-a', '/a/aa', '/a/a/a', '/a/a/a-a/0/~.', '/a/a/a-a/0/~/ff'];

const RECORDS: readonly Json[] = hostileRecords().map((record, index) => {
  const namespace = PLACES[index % PLACES.length] ?? '/';
  return index % 4 === 3 ? { ...record, namespace, family: 'process-run', name: null } : { ...record, namespace };
});

/** The paths of a namespace and of all above it, the root first. */
function lineage(namespace: string): readonly NamespacePath[] {
  const segments = namespace.split('/').filter((segment) => segment !== '');
  return Array.from({ length: segments.length + 1 }, (_, depth) => path(`/${segments.slice(0, depth).join('/')}`));
}

for (const store of testStores()) {
  describe(`the keys of ancestors on the ${store.name} store`, () => {
    let opened: OpenedStore;
    let db: Database;
    beforeAll(async () => {
      opened = await store.openEmpty();
      db = opened.database;
      await migrate(db);
      await plant(db, RECORDS);
      await db.knex.raw('ANALYZE records');
    });
    afterAll(() => opened.dispose());

    it('are of every ancestor down to the last level, and of no other namespace', async () => {
      for (const level of LEVELS) {
        const { key, exists } = ancestorKey(level);
        const rows = await rowsOf<{ readonly id: string; readonly key: string }>(
          db.knex,
          sql`SELECT r.id, ${key} AS key FROM records AS r WHERE ${exists} AND r.family <> ${0}`,
        );
        const expected = RECORDS.flatMap((record) => {
          const root = lineage(String(record['namespace']))[level];
          if (root === undefined) return [];
          const keys = rootKeys([storedPath(root)], { family: record['family'] as Family, includeArchived: true });
          return [{ id: record['id'], key: keys[record['archivedAt'] === null ? 0 : 1] }];
        });
        const byId = (list: readonly Json[]): readonly Json[] => inOrder(list, []);
        expect([level, byId(rows)]).toEqual([level, byId(expected)]);
        expect(expected.length).toBeGreaterThan(20);
      }
    });

    it.each(LEVELS)('have an index for each order at level %i, which is the one that is read', async (level) => {
      const root = path(CHAIN[level] === '' ? '/' : (CHAIN[level] ?? ''));
      for (const [suffix, body] of ORDERS) {
        for (const includeArchived of [false, true]) {
          const plan = parseQuery({ family: 'resource', namespace: '/', includeArchived, ...body }, 'query');
          const visible: Visible = { kind: 'some', exact: [], subtrees: [root] };
          const request = { predicate: rowPredicate(visible), plan, after: null };
          const statement = pageStatement({ ...request, order: keyOrder(plan.orderBy, plan.family) });
          const steps = await planOf(db, statement);
          const reads = steps.flatMap(({ node }) => (node['Relation Name'] === undefined ? [] : [node]));
          expect(reads.map((node) => [node['Node Type'], node['Index Name']])).toEqual([
            ['Index Scan', `records_level${String(level)}_${suffix}`],
          ]);
        }
      }
    });

    it('have no other index, and those of whole families are gone', async () => {
      const indexesOf = async (knex: Database['knex']): Promise<readonly string[]> => {
        const { rows } = await knex.raw<{ rows: readonly { name: string }[] }>(
          'SELECT indexname AS name FROM pg_indexes WHERE tablename = \'records\' ORDER BY indexname COLLATE "C"',
        );
        return rows.map(({ name }) => name);
      };
      const levels = LEVELS.flatMap((level) => ORDERS.map(([suffix]) => `records_level${String(level)}_${suffix}`));
      const paths = ORDERS.map(([suffix]) => `records_path_${suffix}`);
      const expected = [...levels, ...paths, 'records_namespace_path', 'records_pkey', 'records_unique_name'].sort();
      expect(await indexesOf(db.knex)).toEqual(expected);
      const fresh = await store.open();
      try {
        await migrate(fresh.database);
        expect(await indexesOf(fresh.database.knex)).toEqual(expected);
      } finally {
        await fresh.dispose();
      }
    });

    it('find the records that were there before', async () => {
      for (const place of PLACES) {
        for (const family of ['resource', 'process-run'] as const) {
          for (const [, body] of ORDERS) {
            const envelope = {
              family,
              namespace: '/',
              includeArchived: true,
              select: ['id'],
              page: { size: 500 },
              ...body,
            };
            const plan = parseQuery(envelope, 'query');
            const visible: Visible = { kind: 'some', exact: [], subtrees: [path(place)] };
            const request = { predicate: rowPredicate(visible), plan, after: null };
            const statement = pageStatement({ ...request, order: keyOrder(plan.orderBy, family) });
            const { ids } = await readPage(db, statement);
            const within = RECORDS.filter(
              (record) => record['family'] === family && lineage(String(record['namespace'])).includes(path(place)),
            );
            const expected = inOrder(within, (body['orderBy'] ?? []) as readonly Json[]);
            expect([place, ids]).toEqual([place, expected.map(({ id: of }) => of)]);
          }
        }
      }
    });

    it('are what a record has that is moved or archived', async () => {
      const [record] = RECORDS.filter((one) => one['family'] === 'resource' && one['archivedAt'] === null);
      const id = String(record?.['id']);
      const found = async (place: string, includeArchived: boolean): Promise<boolean> => {
        const envelope = { family: 'resource', namespace: '/', includeArchived, select: ['id'], page: { size: 500 } };
        const plan = parseQuery(envelope, 'query');
        const predicate = rowPredicate({ kind: 'some', exact: [], subtrees: [path(place)] });
        const order = keyOrder(plan.orderBy, plan.family);
        const { ids } = await readPage(db, pageStatement({ predicate, plan, after: null, order }));
        return ids.includes(id);
      };
      await db.knex.raw('UPDATE records SET path = ? WHERE id = ?', ['/moved/to/', id]);
      expect(await found('/moved', false)).toBe(true);
      expect(await found('/moved/to', false)).toBe(true);
      expect(await found('/a', true)).toBe(false);
      await db.knex.raw('UPDATE records SET archived_at = now() WHERE id = ?', [id]);
      expect(await found('/moved', false)).toBe(false);
      expect(await found('/moved', true)).toBe(true);
      await db.knex.raw('UPDATE records SET archived_at = NULL, path = ? WHERE id = ?', ['/a/', id]);
      expect(await found('/a', false)).toBe(true);
    });

    it('are of names that only process runs may lack', async () => {
      const one = { ...RECORDS[0], namespace: '/a', name: null };
      for (const [index, family] of (['resource', 'resource-template', 'process-template'] as const).entries()) {
        const id = `01a00000-0000-7000-8000-00000000000${String(index)}`;
        await expect(plant(db, [{ ...one, family, id }])).rejects.toThrow('records_name_check');
        expect(keyOrder([], family)?.optional).toBe(false);
        const plan = parseQuery({ family, namespace: '/', orderBy: [{ name: 'asc' }] }, 'query');
        expect(keyOrder(plan.orderBy, family)?.optional).toBe(false);
      }
      await plant(db, [{ ...one, family: 'process-run', id: '01a00000-0000-7000-8000-00000000000f' }]);
      const plan = parseQuery({ family: 'process-run', namespace: '/', orderBy: [{ name: 'asc' }] }, 'query');
      expect(keyOrder(plan.orderBy, 'process-run')?.optional).toBe(true);
      expect(familyCode('process-run')).toBe(4);
    });
  });
}
