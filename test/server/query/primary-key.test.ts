// Ids in the order in which records were stored, like the server's own. The planner then takes the primary key for a
// short way to a page by id, but it leads past all invisible records. No page may be read with it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { canonicalize, type NamespacePath, type Visible } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { planOf, readsOf } from '../../support/query-plans.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';
import type { Json } from './oracle/evaluate.js';

function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

const INVISIBLE = 6_000;
const VISIBLE = 1_500;
const BATCH = 500;
const AT = '2029-12-31T01:50:00.000Z';
const ID = '00000000-0000-7000-8000-000000001900';

const subtrees = (...roots: readonly string[]): Visible => ({ kind: 'some', exact: [], subtrees: roots.map(path) });
const exact = (...roots: readonly string[]): Visible => ({ kind: 'some', exact: roots.map(path), subtrees: [] });

/** Of namespaces; the embedded engine is the same planner, and slower. */
const SIZES = { embedded: [20, 2].slice(0, times({ usual: 1, deep: 2 })), postgres: [20, 2] };

for (const store of testStores()) {
  describe.each(SIZES[store.name])(
    `a store of %i namespaces whose ids ascend, on the ${store.name} store`,
    (namespaces) => {
      let opened: OpenedStore;
      let db: Database;
      beforeAll(async () => {
        opened = await store.open();
        db = opened.database;
        await migrate(db);
        // What is invisible came first, all of it.
        for (let first = 1; first <= INVISIBLE + VISIBLE; first += BATCH) {
          await db.knex.raw(
            `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
           SELECT lpad(to_hex(i), 32, '0')::uuid, 2, CASE WHEN i <= ? THEN '/a/m' ELSE '/b/m' END || i % ? || '/',
             'r' || i % 50, jsonb_build_object('rank', i % 10), 1, timestamptz '2029-12-31' + i / 100 * interval '100 s', now(), 'test'
           FROM generate_series(?::int, ?::int) AS i`,
            [INVISIBLE, namespaces / 2, first, first + BATCH - 1],
          );
        }
        for (const table of ['records', 'record_counts']) await db.knex.raw('VACUUM ANALYZE ??', [table]);
      });
      afterAll(() => opened.dispose());

      it.each<[string, Visible]>([
        ['a subtree', subtrees('/b')],
        ['a namespace', exact('/b/m0')],
        ['seven namespaces', exact('/b', '/b/m0', '/b/m1', '/b/m2', '/b/m3', '/b/m4', '/b/m5')],
        ['six subtrees', subtrees('/b/m0', '/b/m1', '/b/m2', '/b/m3', '/b/m4', '/b/m5')],
        ['a subtree and a namespace', { kind: 'some', exact: [path('/')], subtrees: [path('/b')] }],
        ['everything', { kind: 'all' }],
      ])('reads no page of %s by the primary key', async (_, visible) => {
        const orders: readonly (readonly [Json[], string[]])[] = [
          [[], [ID]],
          [[{ id: 'desc' }], [ID]],
          [[{ createdAt: 'desc' }], [AT, ID]],
          [[{ createdAt: 'asc' }], [AT, ID]],
          [[{ name: 'asc' }], ['r7', ID]],
          [[{ name: 'desc' }], ['r7', ID]],
        ];
        for (const [orderBy, position] of orders) {
          for (const after of [null, position]) {
            for (const more of [
              {},
              { where: { 'properties.rank': { eq: 3 } } },
              { includeArchived: true, page: { size: 500 } },
            ]) {
              const plan = parseQuery({ family: 'resource', namespace: '/', orderBy, ...more }, 'query');
              const order = keyOrder(plan.orderBy, plan.family);
              if (order === null) throw new Error('an order without an index');
              const statement = pageStatement({ predicate: rowPredicate(visible), plan, after, order });
              const reads = readsOf(await planOf(db, statement)).map(
                ({ node }) => node['Index Name'] ?? node['Node Type'],
              );
              expect(reads.length).toBeGreaterThan(0);
              for (const read of reads) expect(read).toMatch(/^records_(?:level\d|path)_(?:id|created|name)$/);
            }
          }
        }
      });
    },
  );
}
