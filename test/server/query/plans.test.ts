// The plans that PostgreSQL makes for the statements on a store of some size: only index ranges, in the wanted order,
// read no further than the page needs.
import { beforeAll, expect, it } from '@jest/globals';
import type { Visible } from '../../../engine/index.js';
import type { Database } from '../../../server/db/database.js';
import { PLANNER_SETTINGS } from '../../../server/db/session-settings.js';
import { parseQuery } from '../../support/parse-query.js';
import { keyOrder } from '../../../server/query/key-order.js';
import { largePageStatement } from '../../../server/query/page-statement.js';
import { countStatement } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeLargePostgres } from '../../support/large-postgres.js';
import { planOf, readsOf, type Step, wholePlanOf } from '../../support/query-plans.js';
import { testStores } from '../../support/stores.js';
import { page, some, type Asked } from './asked-pages.js';
import type { Json } from './oracle/evaluate.js';

/** `what index: condition`; `key` is the expression of an ancestor's key, `?` a parameter or what another query has found. */
function told({ node }: Step): string {
  const condition = (node['Index Cond'] ?? '')
    .replaceAll(/\(+family\)::text .*? = /g, 'key = ')
    .replaceAll(/\(\(InitPlan \d+\)\.col1\)|\$\d+/g, '?')
    .replaceAll('uuid_send', '')
    .replaceAll(/[()]/g, '')
    .replaceAll(/\b([a-z])_\d+\./g, '$1.');
  return `${node['Node Type']} ${node['Index Name'] ?? ''}: ${condition}`;
}

const NEWEST = { orderBy: [{ createdAt: 'desc' }] };
const OLDEST = { orderBy: [{ createdAt: 'asc' }] };
const BY_NAME = { orderBy: [{ name: 'asc' }] };
const BY_NAME_DOWN = { orderBy: [{ name: 'desc' }] };
const BY_ID_DOWN = { orderBy: [{ id: 'desc' }] };
const FILTER = { where: { 'properties.rank': { gte: 5 } } };
const ALL: Visible = { kind: 'all' };
const LINEAGE = some(['/', '/n1', '/n1/m1'], []);
const FEW = some(['/n7'], ['/n1', '/n3/m3']);
const ROOTS = Array.from({ length: 100 }, (_, index) => `/n${String(index % 20)}/m${String(index)}`);
const HUNDRED = some([], ROOTS);
const MIXED = some(['/n1', '/n1/m1'], ['/n2', '/n3/m3', '/n5/m5/a/b/c', '/n6/m6/a/b/c/d/e', '/n7/m7/a/b/c/d/e']);
const AT = '2029-12-31T12:00:00.000Z';
const ID = '01900000-0000-7000-8000-000000000001';

describeLargePostgres('the plans on a store of 80,000 records', (open) => {
  let db: Database;
  beforeAll(async () => {
    db = await open();
    // 800 in each of a hundred subtrees, of which 600 are resources: most at its root, some three levels below, some five.
    await db.knex.raw(`
      INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
      SELECT gen_random_uuid(), 2 + i / 100 % 4 / 3,
        '/n' || i % 20 || '/m' || i % 100 || (ARRAY['/', '/', '/', '/a/b/c/', '/a/b/c/d/e/'])[1 + i / 400 % 5],
        'r' || i * 7919::bigint % 8999, jsonb_build_object('rank', i / 100 * 7 % 10), 1,
        timestamptz '2029-12-31' + i * interval '1 s', now(), 'test'
      FROM generate_series(1, 80000) AS i`);
    for (const table of ['records', 'record_counts']) await db.knex.raw('VACUUM ANALYZE ??', [table]);
  });

  const IN_NAMESPACE = 'family = ? AND path = v.at';
  const looked = (index: string, how = ''): string => `Index Scan${how} ${index}: key = v.at`;
  const upTo = (index: string, how = '', column = 'created_at >='): string =>
    `Index Scan${how} ${index}: key = m.at AND ${column} ?`;

  it.each<[string, Asked, readonly string[]]>([
    ['everything', { visible: ALL }, [looked('records_level0_id')]],
    ['everything, newest', { visible: ALL, body: NEWEST }, [looked('records_level0_created')]],
    ['everything, by name', { visible: ALL, body: BY_NAME }, [looked('records_level0_name')]],
    [
      'everything, going on',
      { visible: ALL, body: NEWEST, after: [AT, ID] },
      [
        'Index Scan records_level0_created: key = v.at AND created_at = ? AND id > ?',
        'Index Scan records_level0_created: key = v.at AND created_at < ?',
      ],
    ],
    ['exact namespaces', { visible: LINEAGE }, [`Index Scan records_path_id: ${IN_NAMESPACE}`]],
    [
      'exact namespaces, newest',
      { visible: LINEAGE, body: NEWEST },
      [`Index Scan records_path_created: ${IN_NAMESPACE}`],
    ],
    [
      'exact namespaces, by name',
      { visible: LINEAGE, body: BY_NAME },
      [`Index Scan records_path_name: ${IN_NAMESPACE}`],
    ],
    [
      'exact namespaces, by name, going on',
      { visible: LINEAGE, body: BY_NAME, after: ['r5', ID] },
      [
        `Index Scan records_path_name: ${IN_NAMESPACE} AND name = ? AND id > ?`,
        `Index Scan records_path_name: ${IN_NAMESPACE} AND name > ?`,
      ],
    ],
    [
      'a namespace and two subtrees',
      { visible: FEW, body: NEWEST },
      [
        `Index Scan records_path_created: ${IN_NAMESPACE}`,
        looked('records_level1_created'),
        looked('records_level2_created'),
      ],
    ],
    [
      'a hundred subtrees',
      { visible: HUNDRED, body: NEWEST },
      [looked('records_level2_created'), upTo('records_level2_created')],
    ],
    [
      'a hundred subtrees, by id from the end',
      { visible: HUNDRED, body: BY_ID_DOWN },
      [looked('records_level2_id', ' Backward'), upTo('records_level2_id', ' Backward', 'id >=')],
    ],
    [
      'process runs without a name',
      { visible: HUNDRED, body: { ...BY_NAME, family: 'process-run' }, after: [null, ID] },
      [
        'Index Scan records_level2_name: key = v.at AND name IS NULL AND id > ?',
        'Index Scan records_level2_name: key = m.at AND name IS NULL AND id <= ? AND id > ?',
      ],
    ],
    [
      'roots of every kind',
      { visible: MIXED, body: NEWEST },
      [
        `Index Only Scan records_path_created: ${IN_NAMESPACE}`,
        ...['1', '2', '5'].map((level) => looked(`records_level${level}_created`)),
        `Index Only Scan records_path_created: family = ? AND path = v.at`,
        `Index Scan records_path_created: family = ? AND path = m.at AND created_at >= ?`,
        ...['1', '2', '5'].map((level) => upTo(`records_level${level}_created`)),
        `Index Scan records_path_created: family = ? AND path = m.at AND created_at >= ?`,
      ],
    ],
  ])('walk the index of the order within each root: %s', async (_, asked, expected) => {
    // What is asked beyond that changes nothing below the fence.
    for (const more of [{}, FILTER]) {
      const reads = readsOf(await planOf(db, page({ ...asked, body: { ...asked.body, ...more } })));
      const only = (text: string): string => (more === FILTER ? text.replace('Index Only Scan', 'Index Scan') : text);
      const down = (text: string): string => text.replace('Scan Backward', 'Scan');
      expect(reads.map(told).map(down)).toEqual(expected.map(only).map(down));
      for (const read of reads) expectWalk(read, 'the index has all of the order');
    }
  });

  it.each<[string, Json]>([
    ['oldest', OLDEST],
    ['by name from the end', BY_NAME_DOWN],
  ])('walk the index backwards and sort ties alone: %s', async (_, body) => {
    for (const visible of [ALL, LINEAGE, FEW, HUNDRED, MIXED]) {
      for (const more of [{}, FILTER]) {
        const reads = readsOf(await planOf(db, page({ visible, body: { ...body, ...more } })));
        const index = body === OLDEST ? /_created$/ : /_name$/;
        for (const read of reads) {
          expect(read.node['Index Name']).toMatch(index);
          expectWalk(read, 'ties are sorted');
        }
      }
    }
  });

  it.each<[string, Asked]>([
    ['by a property', { visible: FEW, body: { orderBy: [{ 'properties.rank': 'asc' }] } }],
    ['by two keys', { visible: HUNDRED, body: { orderBy: [{ name: 'asc' }, { createdAt: 'asc' }], ...FILTER } }],
    ['of everything', { visible: ALL, body: FILTER, shape: 'gather' }],
  ])('gather nothing but index ranges of what is visible: %s', async (_, asked) => {
    const reads = readsOf(await planOf(db, page(asked)));
    expect(reads.map(told)).toEqual([
      expect.stringMatching(/^Index Scan records_path_\w+: family = \? AND path >= v\.lo AND path < v\.hi$/),
    ]);
    for (const { node } of reads) expect(node.Filter).toBe('(archived_at IS NULL)');
  });

  it('sum counters for a count, and read no record', async () => {
    const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
    const steps = await planOf(db, countStatement({ predicate: rowPredicate(FEW), plan }));
    expect(steps.flatMap(({ node }) => node['Relation Name'] ?? [])).toEqual(['record_counts']);
  });

  it('fetch each page of the table once for a count with a filter, for all subtrees of a depth', async () => {
    const plan = parseQuery({ family: 'resource', namespace: '/', ...FILTER }, 'count');
    const steps = await wholePlanOf(db, countStatement({ predicate: rowPredicate(HUNDRED), plan }), ['ANALYZE']);
    expect(
      steps.filter(({ node }) => node['Relation Name'] === 'records').map(({ node }) => node['Node Type']),
    ).toEqual(['Bitmap Heap Scan']);
    const [heap] = steps.filter(({ node }) => node['Node Type'] === 'Bitmap Heap Scan');
    expect(heap?.node).toMatchObject({ 'Actual Rows': 60_000, 'Actual Loops': 1 });
    expect(heap?.node['Rows Removed by Filter'] ?? 0).toBe(0);
  });

  /** A store of its own without records and without statistics. */
  async function onYoungStore(work: (database: Database) => Promise<void>): Promise<void> {
    const store = await testStores()
      .find(({ name }) => name === 'postgres')
      ?.open();
    if (store === undefined) throw new Error('there is no PostgreSQL');
    try {
      await work(store.database);
    } finally {
      await store.dispose();
    }
  }

  /** Those by which the trigger that marks unique names finds the template of a record, planned as it does. */
  function indexesOfMark(database: Database): Promise<readonly string[]> {
    return database.transaction(async (trx) => {
      const { rows: found } = await trx.raw<{ rows: readonly { prosrc: string }[] }>(
        "SELECT prosrc FROM pg_proc WHERE proname = 'records_mark_unique'",
      );
      const [, query = ''] = /COALESCE\(\((.*)\), false\)/s.exec(found[0]?.prosrc ?? '') ?? [];
      await trx.raw(
        `PREPARE mark (uuid, smallint) AS ${query.replace('NEW.template', '$1').replace('NEW.family', '$2')}`,
      );
      const { rows } = await trx.raw<{ rows: readonly object[] }>(
        `EXPLAIN (FORMAT JSON) EXECUTE mark ('${ID}', 4::smallint)`,
      );
      await trx.raw('DEALLOCATE mark');
      return Array.from(JSON.stringify(rows).matchAll(/"Index Name":"(\w+)"/g), ([, index = '']) => index);
    });
  }

  it('plan counts with a filter alike on an empty, an unanalyzed and an analyzed store', () =>
    onYoungStore(async (database) => {
      const plan = parseQuery({ family: 'resource', namespace: '/', ...FILTER }, 'count');
      const shape = async (visible: Visible): Promise<readonly string[]> => {
        const steps = await wholePlanOf(database, countStatement({ predicate: rowPredicate(visible), plan }));
        // Which of the three indexes of a key it is makes no difference: their entries are of the same records.
        return readsOf(steps).map((step) => told(step).replace(/_(?:id|created|name):/, ':'));
      };
      const shapes = async (): Promise<unknown> => Promise.all([ALL, LINEAGE, FEW, HUNDRED, MIXED].map(shape));
      const empty = await shapes();
      expect(JSON.stringify(empty)).not.toMatch(/Seq Scan|"Index (?:Only )?Scan/);
      await database.knex.raw(`
        INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        SELECT gen_random_uuid(), 2, (ARRAY['/n1/', '/n1/m1/', '/n7/'])[1 + i % 3], 'r', '{}', 1, now(), now(), 'test'
        FROM generate_series(1, 5000) AS i`);
      expect(await shapes()).toEqual(empty);
      await database.knex.raw('ANALYZE records');
      expect(await shapes()).toEqual(empty);
    }));

  it('look up included records and templates by their ids on an empty, an unanalyzed and an analyzed store', () =>
    onYoungStore(async (database) => {
      const plan = parseQuery(
        { family: 'process-run', namespace: '/', includes: { resources: {}, template: {}, namespace: {} } },
        'query',
      );
      const predicate = rowPredicate(ALL);
      const opened = plan.includes.map((include) => ({ ...include, predicate }));
      const order = keyOrder(plan.orderBy, plan.family);
      const statement = largePageStatement({ predicate, plan, after: null, order, opened });
      const expectById = async (): Promise<void> => {
        const found = readsOf(await planOf(database, statement)).filter(({ node }) =>
          /w\.key/.test(told({ node, above: [] })),
        );
        expect(found.map(told).sort()).toEqual([
          'Index Scan records_namespace_path: path = w.key',
          'Index Scan records_pkey: id = w.key',
          'Index Scan records_pkey: id = w.key',
        ]);
        expect(await indexesOfMark(database)).toEqual(['records_pkey']);
      };
      await expectById();
      for (const rows of [10, 1_000, 5_000]) {
        await database.knex.raw(
          `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
          SELECT gen_random_uuid(), 2 + i % 3, (ARRAY['/n1/', '/n1/m1/', '/n7/'])[1 + i % 3], 'r', '{}', 1, now(), now(), 'test'
          FROM generate_series(1, ?::int) AS i`,
          [rows],
        );
        await expectById();
      }
      await database.knex.raw('ANALYZE records');
      await expectById();
    }));

  it('dissolve deep roots by their counters, and read no record for that', async () => {
    const steps = await planOf(db, page({ visible: some([], ['/n6/m6/a/b/c/d/e']), body: NEWEST }), ['ANALYZE']);
    const counters = steps.filter(({ node }) => node['Relation Name'] === 'record_counts');
    expect(counters.map(told)).toEqual([
      "Index Only Scan record_counts_pkey: family = ? AND path >= d.at AND path < \"left\"d.at, '-1'::integer || '0'::text",
    ]);
    // A look at as much as one namespace needs for a page, as there is but one, and then the page.
    expect(readsOf(steps).map(({ node }) => [node['Index Name'], node['Actual Loops'], node['Actual Rows']])).toEqual([
      ['records_path_created', 1, 102],
      ['records_path_created', 1, 51],
    ]);
  });

  /** Entries that are read, and those of them that were in vain. */
  async function readBy(asked: Asked): Promise<number> {
    const reads = readsOf(await planOf(db, page(asked), ['ANALYZE', 'TIMING OFF']));
    return reads.reduce((sum, { node }) => {
      const rows = (node['Actual Rows'] ?? NaN) + (node['Rows Removed by Filter'] ?? 0);
      return sum + Math.ceil(rows * (node['Actual Loops'] ?? NaN));
    }, 0);
  }

  it.each<[string, Json, number]>([
    ['newest', NEWEST, 51],
    ['by name', BY_NAME, 51],
    ['by id', {}, 51],
    // Ties are read to their end, and 32 rows at least are sorted at once.
    ['oldest', OLDEST, 84],
    ['by name from the end', BY_NAME_DOWN, 84],
    ['newest, of a half', { ...NEWEST, ...FILTER }, 160],
  ])('read no further than the page goes, of everything: %s', async (_, body, limit) => {
    const rows = await readBy({ visible: ALL, body });
    expect(rows).toBeGreaterThanOrEqual(51);
    expect(rows).toBeLessThanOrEqual(limit);
  });

  it.each<[string, Json, readonly string[]]>([
    ['newest', NEWEST, [AT, ID]],
    ['by name', BY_NAME, ['r5', ID]],
    ['by id', {}, ['80000000-0000-4000-8000-000000000000']],
    ['oldest', OLDEST, [AT, ID]],
    ['by name from the end', BY_NAME_DOWN, ['r5', ID]],
    ['newest, of a half', { ...NEWEST, ...FILTER }, [AT, ID]],
  ])('read a few hundred of 60,000 visible records of a hundred subtrees: %s', async (_, body, after) => {
    for (const place of [undefined, after]) {
      const rows = await readBy({ visible: HUNDRED, body, ...(place === undefined ? {} : { after: place }) });
      // One or two of each at first, and then at most what stands before the edge in the roots that reach it.
      expect(rows).toBeGreaterThanOrEqual(100);
      expect(rows).toBeLessThan(1_000);
    }
  });

  it('start no run for which those before it leave nothing', async () => {
    const body = { ...BY_NAME, page: { size: 3 } };
    const first = '00000000-0000-0000-0000-000000000000';
    const steps = await planOf(db, page({ visible: ALL, body, after: ['r5', first] }), ['ANALYZE']);
    // Of that name there are more.
    expect(readsOf(steps).map(({ node }) => [node['Actual Loops'], node['Actual Rows']])).toEqual([
      [1, 4],
      [0, 0],
    ]);
  });

  it('try a filter of very many roots on what comes first, and only if that is too few on all', async () => {
    const exact = ROOTS.flatMap((root) => [root, `${root}/a/b/c`, `${root}/a/b/c/d/e`]);
    const asked = (where: Json): Asked => ({ visible: some(exact, []), body: { ...NEWEST, where } });
    const half = await readBy(asked(FILTER.where));
    expect(half).toBeGreaterThan(816);
    expect(half).toBeLessThan(6_000);
    const steps = await planOf(db, page(asked(FILTER.where)));
    for (const read of readsOf(steps)) expectWalk(read, 'the index has all of the order');
    const none = await readBy(asked({ 'properties.rank': { gte: 10 } }));
    expect(none).toBeGreaterThan(60_000);
  });

  it('use the plans that their settings ask for', async () => {
    const { rows } = await db.knex.raw<{ rows: readonly { name: string; setting: string }[] }>(
      'SELECT name, setting FROM pg_settings WHERE name = ANY(?)',
      [[...PLANNER_SETTINGS.keys()]],
    );
    expect(new Map(rows.map(({ name, setting }) => [name, setting]))).toEqual(PLANNER_SETTINGS);
  });
});

/** An index range is read in its order, within one root: nothing is sorted but ties before its first rows are taken. */
function expectWalk({ node, above }: Step, order: 'the index has all of the order' | 'ties are sorted'): void {
  expect(node['Node Type']).toMatch(/^Index (?:Only )?Scan$/);
  // Its roots may hold archived records; all else is what the index has.
  expect(['(archived_at IS NULL)', undefined]).toContain(node.Filter);
  const types = above.map((one) => one['Node Type']);
  const within = types.slice(types.lastIndexOf('Nested Loop') + 1);
  expect(types).toContain('Nested Loop');
  const sorted = order === 'ties are sorted' ? ['Incremental Sort'] : [];
  expect(within.filter((type) => type !== 'Subquery Scan')).toEqual(['Limit', ...sorted]);
}
