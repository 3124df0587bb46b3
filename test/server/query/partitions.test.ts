// The same statements on a table that is split by namespace, as the README describes it: the same answers, and which partitions
// are asked for them.
import { afterAll, beforeAll, expect, describe, it } from '@jest/globals';
import type { Database } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { rowsOf } from '../../../server/db/sql.js';
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
    const ask = async (): Promise<readonly unknown[]> => {
      const all: unknown[] = [];
      for (const visible of sets) {
        for (const orderBy of ORDERS) {
          const asked = { visible, body: { orderBy } };
          all.push(await rowsOf(db.knex, page(asked)), await rowsOf(db.knex, page({ ...asked, shape: 'gather' })));
        }
        const plan = parseQuery({ family: 'resource', namespace: '/' }, 'count');
        all.push(await rowsOf(db.knex, countStatement({ predicate: rowPredicate(visible), plan })));
      }
      return all;
    };
    const whole = await ask();
    await split(db);
    expect(await ask()).toEqual(whole);

    await db.knex.raw('UPDATE records SET archived_at = now() WHERE path = ? AND archived_at IS NULL', ['/a/']);
    await db.knex.raw('DELETE FROM records WHERE path = ?', ['/b/']);
    const { rows } = await db.knex.raw<{ rows: unknown[] }>(`SELECT
      (SELECT sum(active)::int FROM record_counts) = (SELECT count(*) FROM records WHERE archived_at IS NULL) AS active,
      (SELECT sum(archived)::int FROM record_counts) = (SELECT count(archived_at) FROM records) AS archived`);
    expect(rows).toEqual([{ active: true, archived: true }]);
  });

  /** How often each partition is read for a page, by its name. */
  async function readsBy(asked: Asked): Promise<ReadonlyMap<string, number>> {
    const reads = readsOf(await planOf(db, page({ ...asked, body: NEWEST }), ['ANALYZE']));
    return new Map(reads.map(({ node }) => [node['Relation Name'] ?? '', node['Actual Loops'] ?? 0]));
  }

  it.each<[string, Asked]>([
    ['exact namespaces', { visible: some(['/a'], []) }],
    ['what is gathered', { visible: some([], ['/a']), shape: 'gather' }],
  ])('is read only where the visible ranges lie: %s', async (_, asked) => {
    const loops = await readsBy(asked);
    expect(loops.get('records_a')).toBe(1);
    for (const other of ['records_b', 'records_root', 'records_rest'])
      expect([other, loops.get(other)]).toEqual([other, 0]);
  });

  it('is asked for the key of a subtree in every partition', async () => {
    const partitions = ['records_a', 'records_b', 'records_rest', 'records_root'];
    const loops = await readsBy({ visible: some([], ['/a']) });
    expect([...loops].sort()).toEqual(partitions.map((name) => [name, 1]));
  });
});

/** As the README describes it: partitions by ranges of paths, the key widened by the path, all else as it was. */
async function split(db: Database): Promise<void> {
  const definitions = async (statement: string): Promise<readonly string[]> => {
    const { rows } = await db.knex.raw<{ rows: readonly { text: string }[] }>(statement);
    return rows.map(({ text }) => text.replace(' ON bailiwick.single', ' ON bailiwick.records'));
  };
  await db.knex.raw('ALTER TABLE records RENAME TO single');
  const indexes = await definitions(
    "SELECT indexdef AS text FROM pg_indexes WHERE tablename = 'single' AND indexname <> 'records_pkey'",
  );
  const triggers = await definitions(
    "SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE tgrelid = 'single'::regclass AND NOT tgisinternal",
  );
  await db.knex.raw(
    'CREATE TABLE records (LIKE single INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (path)',
  );
  await db.knex.raw("CREATE TABLE records_root PARTITION OF records FOR VALUES FROM (MINVALUE) TO ('/ ')");
  await db.knex.raw("CREATE TABLE records_a PARTITION OF records FOR VALUES FROM ('/a/') TO ('/a0')");
  await db.knex.raw("CREATE TABLE records_b PARTITION OF records FOR VALUES FROM ('/b/') TO ('/b0')");
  await db.knex.raw('CREATE TABLE records_rest PARTITION OF records DEFAULT');
  await db.knex.raw('INSERT INTO records SELECT * FROM single');
  await db.knex.raw('DROP TABLE single');
  await db.knex.raw('ALTER TABLE records ADD PRIMARY KEY (id, path)');
  for (const definition of [...indexes, ...triggers]) await db.knex.raw(definition.replaceAll('?', '\\?'));
}
