// Time (docs/queries.md "What stays hidden"): what the store reads for an answer is the same whatever invisible records hold.
// Shown by counting, not by a clock: two databases that differ in invisible values alone touch as many blocks and rows at
// every step of every plan.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Visible } from '../../../engine/index.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import type { Fragment } from '../../../server/db/sql.js';
import type { SortPosition } from '../../../server/query/order.js';
import { parseQuery } from '../../support/parse-query.js';
import { chosenStatement, countStatement } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { planOf, type Step, wholePlanOf } from '../../support/query-plans.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { times } from '../../support/test-runs.js';
import { some } from './asked-pages.js';
import type { Json } from './oracle/evaluate.js';

/** What invisible records hold; all of one length, so that they fill the same pages. */
interface Values {
  readonly name: string;
  readonly id: string;
  readonly created: string;
  readonly rank: number;
}

const FIRST: Values = { name: 'a', id: '0', created: '2001-01-01', rank: 1 };
const LAST: Values = { name: 'z', id: 'f', created: '2039-01-01', rank: 9 };

const RECORDS = times({ usual: 12_000, deep: 24_000 });

/**
 * Namespaces `/n0` to `/n9` with four below each, and some at depths 4 to 7; half of the records are of other families. What is
 * visible lies in the middle of what is not, and deep down they have the same ancestors up to the last or all but one.
 */
async function fill(db: Database, { name, id, created, rank }: Values): Promise<void> {
  await db.knex.raw(
    `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, archived_at)
     SELECT (CASE WHEN seen THEN '8' ELSE ? END || substr(md5(i::text), 2, 31))::uuid, family, path,
       CASE WHEN seen THEN 'm' ELSE ? END || lpad(i::text, 8, '0'),
       jsonb_build_object('rank', CASE WHEN seen THEN i % 10 ELSE ? END),
       1, CASE WHEN seen THEN timestamptz '2020-01-01' ELSE ?::timestamptz END + i * interval '1 s', now(), 'test', NULL
     FROM (SELECT i, family, CASE WHEN n < 10 THEN '/n' || n || '/m' || m || '/'
           WHEN n = 10 THEN '/deep/a/b/c/d/e/v' || m || '/'
           ELSE (ARRAY['/deep/a/b/c/', '/deep/a/b/c/d/', '/deep/a/b/c/d/e/', '/deep/a/b/c/x/'])[m + 1] END AS path,
         family = 2 AND (n IN (3, 5) OR (n = 7 AND m = 1) OR (n = 10 AND m IN (1, 2)) OR (n = 11 AND m = 1)) AS seen
       FROM (SELECT i, 2 + i / 12 % 2 AS family, i % 12 AS n, i / 24 % 4 AS m FROM generate_series(1, ?::int) AS i) AS r) AS r`,
    [id, name, rank, created, RECORDS],
  );
  await db.knex.raw('REINDEX TABLE records');
  for (const table of ['records', 'record_counts']) await db.knex.raw('VACUUM (ANALYZE) ??', [table]);
}

/** So many that a filter is tried on what comes first. */
const EMPTY = Array.from({ length: 260 }, (_, index) => `/n5/m9/${String(index)}`);

const SETS: readonly (readonly [string, Visible])[] = [
  ['subtrees', some([], ['/n3', '/n5', '/n7/m1'])],
  ['one top-level subtree', some([], ['/n5'])],
  ['exact namespaces', some(['/n3/m0', '/n5/m1', '/n5/m2'], [])],
  ['many subtrees', some([], ['/n3/m0', '/n3/m1', '/n3/m2', '/n3/m3', '/n5', '/n7/m1'])],
  ['many exact namespaces', some(['/n3/m0', '/n3/m1', '/n3/m2', '/n5/m0', '/n5/m1', '/n7/m1'], [])],
  ['very many namespaces', some(['/n3/m0', '/n3/m1', '/n5/m1', '/n5/m2', ...EMPTY], [])],
  ['deep roots', some([], ['/deep/a/b/c/d/e/v1', '/deep/a/b/c/d/e/v2'])],
  // All above it is shared, and what is below it is not visible.
  ['a namespace among invisible ones', some(['/deep/a/b/c/d'], [])],
  [
    'roots of every kind',
    some(['/deep/a/b/c/d', '/n3/m0'], ['/n3/m1', '/n5', '/n7/m1', '/deep/a/b/c/d/e/v1', '/deep/a/b/c/d/e/v2']),
  ],
];

const RARE = { 'properties.rank': { gte: 5 }, name: { startsWith: 'm0001' } };
const AT = '2020-01-01T02:00:00.000Z';
const ID = '88000000-0000-4000-8000-000000000000';

const PAGES: readonly (readonly [string, Json, SortPosition | null])[] = [
  ['newest', { orderBy: [{ createdAt: 'desc' }] }, null],
  ['oldest', { orderBy: [{ createdAt: 'asc' }] }, null],
  ['by name', { orderBy: [{ name: 'asc' }] }, null],
  ['by name from the end', { orderBy: [{ name: 'desc' }] }, null],
  ['by id', {}, null],
  ['by id from the end', { orderBy: [{ id: 'desc' }] }, null],
  ['by a property', { orderBy: [{ 'properties.rank': 'desc' }] }, null],
  ['filtered', { where: RARE }, null],
  ['filtered by text without its case', { where: { name: { containsIgnoreCase: 'M0001' } } }, null],
  ['filtered, newest', { where: RARE, orderBy: [{ createdAt: 'desc' }] }, null],
  ['filtered, by name from the end', { where: RARE, orderBy: [{ name: 'desc' }] }, null],
  ['a large page', { orderBy: [{ createdAt: 'desc' }], page: { size: 500 } }, null],
  ['archived too', { includeArchived: true, orderBy: [{ name: 'desc' }] }, null],
  ['deep, newest', { orderBy: [{ createdAt: 'desc' }] }, [AT, ID]],
  ['deep, by name', { orderBy: [{ name: 'asc' }] }, ['m00008000', ID]],
  ['deep, by id', {}, [ID]],
  ['deep, by a property', { orderBy: [{ 'properties.rank': 'asc' }] }, ['1', '5', null, ID]],
];

/** Every step of a plan: what it is, its index, rows, rounds, rows it passed over, heap fetches, blocks. */
async function stepsOf(db: Database, statement: Fragment, whole: boolean): Promise<readonly string[]> {
  const run = (): Promise<readonly Step[]> =>
    (whole ? wholePlanOf : planOf)(db, statement, ['ANALYZE', 'BUFFERS', 'TIMING OFF']);
  // The first time, a connection also reads the catalog.
  await run();
  return (await run()).map(({ node }) => {
    const blocks = (node['Shared Hit Blocks'] ?? NaN) + (node['Shared Read Blocks'] ?? NaN);
    const passed = node['Rows Removed by Filter'] ?? 0;
    const pages = [node['Exact Heap Blocks'] ?? 0, node['Lossy Heap Blocks'] ?? 0];
    const counts = [node['Actual Rows'], node['Actual Loops'], passed, node['Heap Fetches'] ?? 0, ...pages, blocks];
    return [node['Node Type'], node['Index Name'] ?? '', ...counts].join(' ');
  });
}

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

describePostgres('what is read for an answer', () => {
  const opened: OpenedStore[] = [];
  const dbs: Database[] = [];
  beforeAll(async () => {
    if (postgres === undefined) return;
    for (const values of [FIRST, LAST]) {
      const store = await postgres.open();
      opened.push(store);
      // Statistics and visibility of rows change at the test's word alone.
      const db = await openDatabase({ ...store.config, maxConnections: 1, statementTimeout: 0 });
      dbs.push(db);
      await migrate(db);
      await db.knex.raw('ALTER TABLE records SET (autovacuum_enabled = false)');
      await db.knex.raw('ALTER TABLE record_counts SET (autovacuum_enabled = false)');
      await fill(db, values);
    }
  });
  afterAll(async () => {
    for (const db of dbs) await db.close();
    for (const store of opened) await store.dispose();
  });

  async function both(statement: Fragment, whole = false): Promise<readonly (readonly string[])[]> {
    const [first, last] = dbs;
    if (first === undefined || last === undefined) throw new Error('no databases');
    return [await stepsOf(first, statement, whole), await stepsOf(last, statement, whole)];
  }

  function statement(visible: Visible, body: Json, after: SortPosition | null): Fragment {
    const plan = parseQuery({ family: 'resource', namespace: '/', ...body }, 'query');
    return chosenStatement({ predicate: rowPredicate(visible), plan, after });
  }

  describe.each(SETS)('of %s', (_, visible) => {
    it.each(PAGES)('does not depend on invisible values: %s', async (__, body, after) => {
      const [first = [], last] = await both(statement(visible, body, after));
      expect(first.join('\n')).toMatch(/^[^\n]* [1-9]\d*\n/);
      // It would read the others' records too, however wide they are.
      expect(first.join('\n')).not.toContain('Seq Scan');
      expect(last).toEqual(first);
    });

    it.each([
      ['all', {}],
      ['filtered', RARE],
      ['archived too', { id: { isNull: false } }],
    ])('does not depend on invisible values: count, %s', async (name, where) => {
      const body = { family: 'resource', namespace: '/', where, includeArchived: name === 'archived too' };
      const plan = parseQuery(body, 'count');
      const [first = [], last] = await both(countStatement({ predicate: rowPredicate(visible), plan }), name !== 'all');
      expect(first.join('\n')).toMatch(/^[^\n]* [1-9]\d*\n/);
      expect(first.join('\n')).not.toContain('Seq Scan');
      expect(last).toEqual(first);
    });
  });

  it('does depend on what is visible, so that the measure would show a difference', async () => {
    const filtered = { where: { name: { startsWith: 'm' } }, orderBy: [{ name: 'asc' }] };
    const [first, last] = await both(statement({ kind: 'all' }, filtered, null));
    expect(last).not.toEqual(first);
  });
});
