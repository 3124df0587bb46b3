// Answers and errors do not depend on what invisible records hold, whichever part of the planner is switched off or on, with other
// indexes and with none.
import { afterAll, beforeAll, expect, describe, it } from '@jest/globals';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { PLANNER_SETTINGS, SCHEMA } from '../../../server/db/session-settings.js';
import { rowsOf } from '../../../server/db/sql.js';
import { parseQuery } from '../../support/parse-query.js';
import { countStatement } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { page, some } from './asked-pages.js';
import { hostileRecords, plant } from './hostile-records.js';
import type { Json } from './oracle/evaluate.js';

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

const SETTINGS = [
  'enable_seqscan',
  'enable_indexscan',
  'enable_indexonlyscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_nestloop',
  'enable_sort',
  'enable_incremental_sort',
  'enable_material',
  'enable_memoize',
];

/** Expressions that an invisible value would break, were they not total or not above the fence. */
const PROBES: readonly Json[] = [
  { 'properties.rank': { gt: 0 } },
  { 'properties.rank': { lte: 1e300 }, 'properties.label': { startsWith: 'b' } },
  { not: { 'properties.deep.a': { eq: true } } },
  { or: [{ 'properties.deep.a.b': { contains: 'x' } }, { 'properties.rank': { in: [0, 1, -1] } }] },
  { name: { endsWith: '%' } },
];

const ORDERS = [[], [{ createdAt: 'desc' }], [{ name: 'desc' }], [{ 'properties.rank': 'asc' }]];

/** Few roots and many, with and without keys; that of each the invisible is a neighbour, below, above or both. */
const SEEN = [
  some(['/a'], ['/a/b', '/b']),
  some(['/a', '/ab/x'], ['/a/b/c', '/b', '/c/1/2/3/4/5/6', '/c/1/2/3/4/5/7']),
];
const SEEN_DEEP = ['/c/1/2/3/4/5/6', '/c/1/2/3/4/5/7', '/c/1/2/3/4/5/7/8'];
const UNSEEN = ['/a-b', '/ab', '/c', '/', '/c/1/2/3/4/5', '/c/1/2/3/4/5/8'];

describePostgres('poison in invisible records', () => {
  let opened: OpenedStore;
  let db: Database;
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    // One connection: what a test sets there is set for all its statements.
    db = await openDatabase({ ...opened.config, maxConnections: 1, statementTimeout: 0 });
    await migrate(db);
    await plant(db, hostileRecords());
    const deep = hostileRecords().map((record, index) => ({
      ...record,
      namespace: SEEN_DEEP[index % SEEN_DEEP.length],
      id: `01600000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`,
    }));
    await plant(db, deep);
  });
  afterAll(async () => {
    await db.close();
    await opened.dispose();
  });

  async function answers(): Promise<readonly unknown[]> {
    const all: unknown[] = [];
    for (const visible of SEEN) {
      for (const where of PROBES) {
        for (const orderBy of ORDERS) {
          const asked = { visible, body: { where, orderBy, page: { size: 20 } } };
          const merged = await rowsOf(db.knex, page(asked));
          expect(await rowsOf(db.knex, page({ ...asked, shape: 'gather' }))).toEqual(merged);
          all.push(merged);
        }
        const plan = parseQuery({ family: 'resource', namespace: '/', where }, 'count');
        all.push(await rowsOf(db.knex, countStatement({ predicate: rowPredicate(visible), plan })));
      }
    }
    return all;
  }

  it('changes no answer and raises no error: with statistics or none, other indexes or none, without any planner step', async () => {
    const clean = await answers();
    expect(JSON.stringify(clean).length).toBeGreaterThan(5_000);
    const poison = hostileRecords().flatMap((record, index) =>
      UNSEEN.map((namespace, copy) => ({
        ...record,
        namespace,
        id: `01700000-0000-7000-8000-${(index * UNSEEN.length + copy).toString(16).padStart(12, '0')}`,
      })),
    );
    await plant(db, poison);
    await db.knex.raw(
      `UPDATE records SET properties = '{"rank":1e400,"deep":{"a":"NaN"}}'
       WHERE path = ANY('{/c/,/c/1/2/3/4/5/8/}') AND revision = ?`,
      [1],
    );
    const check = async (state: string): Promise<void> => {
      expect([state, await answers()]).toEqual([state, clean]);
    };
    await check('no statistics');
    await db.knex.raw('ANALYZE records');
    await check('analyzed');
    const usual = (setting: string): string => PLANNER_SETTINGS.get(setting) ?? 'on';
    for (const setting of SETTINGS) {
      for (const value of ['off', 'on']) {
        await db.knex.raw(`SET ${setting} = ${value}`);
        if (usual(setting) !== value) await check(`${setting} ${value}`);
      }
      await db.knex.raw(`SET ${setting} = ${usual(setting)}`);
    }
    for (const setting of PLANNER_SETTINGS.keys()) await db.knex.raw(`SET ${setting} = DEFAULT`);
    await db.knex.raw('SET jit = off');
    await check('as a server plans by itself');
    await db.knex.raw('SET max_parallel_workers_per_gather = 4');
    await db.knex.raw('SET parallel_setup_cost = 0');
    await db.knex.raw('SET parallel_tuple_cost = 0');
    await db.knex.raw('SET min_parallel_table_scan_size = 0');
    await check('in parallel');
    await db.knex.raw('RESET ALL');
    await db.knex.raw('SET search_path TO ??', [SCHEMA]);
    await db.knex.raw('SET jit = off');
    await db.knex.raw('CREATE INDEX extra_gin ON records USING gin (properties)');
    await db.knex.raw("CREATE INDEX extra_rank ON records ((properties -> 'rank'))");
    await db.knex.raw('ANALYZE records');
    await check('with indexes on properties');
    const { rows } = await db.knex.raw<{ rows: readonly { name: string }[] }>(
      "SELECT indexname AS name FROM pg_indexes WHERE tablename = ? AND indexname NOT LIKE '%pkey'",
      ['records'],
    );
    for (const { name } of rows) await db.knex.raw('DROP INDEX ??', [name]);
    await check('without indexes');
  });
});
