// The same statements on a store with partitions: the same answers, and which partitions are asked for them.
import { afterAll, beforeAll, expect, describe, it } from '@jest/globals';
import type { Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { partition } from '../../../server/db/partitions.js';
import { rowsOf } from '../../../server/db/sql.js';
import { pathOf } from '../../support/gateway.js';
import { parseQuery } from '../../support/parse-query.js';
import { countStatement } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { planOf, readsOf } from '../../support/query-plans.js';
import { testStores, type OpenedStore } from '../../support/stores.js';
import { page, some, type Asked } from './asked-pages.js';
import { hostileRecords, plant } from './hostile-records.js';

const postgres = testStores().find(({ name }) => name === 'postgres');
const describePostgres = postgres === undefined ? describe.skip : describe;

const NEWEST = { orderBy: [{ createdAt: 'desc' }] };
const PARTITIONS = ['/a', '/b'].map(pathOf);
const ORDERS = [[], NEWEST.orderBy, [{ name: 'desc' }], [{ 'properties.rank': 'asc' }]];

describePostgres('a table that is split by top-level namespace', () => {
  let opened: OpenedStore;
  let db: Database;
  beforeAll(async () => {
    if (postgres === undefined) return;
    opened = await postgres.open();
    db = opened.database;
    await migrate(db);
    await plant(db, hostileRecords());
  });
  afterAll(() => opened.dispose());

  it('gives the same answers to the same statements, and keeps its counters', async () => {
    const sets = [
      ...[some(['/', '/a', '/a/b'], []), some(['/a-b'], ['/a', '/b']), some([], ['/'])],
      some(['/', '/a', '/a-b'], ['/a/b', '/a.b', '/b']),
    ];
    const ask = async (isPartitioned: boolean): Promise<readonly unknown[]> => {
      const all: unknown[] = [];
      for (const visible of sets) {
        for (const orderBy of ORDERS) {
          const asked = { visible, body: { orderBy }, isPartitioned };
          all.push(await rowsOf(db.knex, page(asked)), await rowsOf(db.knex, page({ ...asked, shape: 'gather' })));
        }
        const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
        all.push(await rowsOf(db.knex, countStatement({ predicate: rowPredicate(visible), plan })));
      }
      return all;
    };
    const whole = await ask(false);
    expect(await partition(db, PARTITIONS)).toBe(true);
    expect(await ask(true)).toEqual(whole);
    // A gateway that was there before sends other statements.
    expect(await ask(false)).toEqual(whole);

    await db.knex.raw('UPDATE records SET archived_at = now() WHERE path = ? AND archived_at IS NULL', ['/a/']);
    await db.knex.raw('DELETE FROM records WHERE path = ?', ['/b/']);
    const { rows } = await db.knex.raw<{ rows: unknown[] }>(`SELECT
      (SELECT sum(active)::int FROM record_counts) = (SELECT count(*) FROM records WHERE archived_at IS NULL) AS active,
      (SELECT sum(archived)::int FROM record_counts) = (SELECT count(archived_at) FROM records) AS archived`);
    expect(rows).toEqual([{ active: true, archived: true }]);
  });

  /** How often each partition is read for a page, by its name. */
  async function readsBy(asked: Asked): Promise<ReadonlyMap<string, number>> {
    const reads = readsOf(await planOf(db, page({ ...asked, body: NEWEST, isPartitioned: true }), ['ANALYZE']));
    return new Map(reads.map(({ node }) => [node['Relation Name'] ?? '', node['Actual Loops'] ?? 0]));
  }

  it.each<[string, Asked]>([
    ['exact namespaces', { visible: some(['/a'], []) }],
    ['a subtree', { visible: some([], ['/a']) }],
    ['subtrees of two depths', { visible: some([], ['/a', '/a/b/c']) }],
    ['what is gathered', { visible: some([], ['/a']), shape: 'gather' }],
  ])('reads only the partitions in which the visible ranges lie: %s', async (_, asked) => {
    const loops = await readsBy(asked);
    expect(loops.get('records_1')).toBeGreaterThan(0);
    for (const other of ['records_2', 'records_rest']) expect([other, loops.get(other)]).toEqual([other, 0]);
  });

  it('reads all partitions for everything', async () => {
    const loops = await readsBy({ visible: { kind: 'all' } });
    expect([...loops].sort()).toEqual(['records_1', 'records_2', 'records_rest'].map((name) => [name, 1]));
  });
});
