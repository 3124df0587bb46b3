// Lists of values that are looked up instead of being compared one by one, and values that stand in a statement many times and are
// sent once: the answers are those of the slow evaluator.
import { mock } from 'node:test';
import { beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { parseQuery } from '../../support/parse-query.js';
import { chosenStatement, countRecords } from '../../../server/query/records.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import { describeOnStores } from '../../support/stores.js';
import { planOf, readsOf } from '../../support/query-plans.js';
import { some } from './asked-pages.js';
import { hostileRecords, plant, TEXTS } from './hostile-records.js';
import { holds, type Json } from './oracle/evaluate.js';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index / 2 - 3);
const texts = (count: number): readonly string[] => [
  ...TEXTS.filter((_, index) => index % 2 === 0),
  ...numbers(count).map(String),
];
const instants = Array.from({ length: 40 }, (_, day) => new Date(Date.UTC(2030, 0, 1 + day)).toISOString());

const CONDITIONS: readonly Json[] = [16, 17, 1_000].flatMap((count) => [
  { 'properties.rank': { in: numbers(count) } },
  { 'properties.rank': { notIn: numbers(count) } },
  { not: { 'properties.rank': { in: numbers(count) } } },
  { 'properties.label': { in: texts(count - 11) } },
  { not: { 'properties.label': { notIn: texts(count - 11) } } },
  { revision: { in: numbers(count) }, name: { notIn: texts(count - 11) } },
  { description: { notIn: texts(count - 11) } },
  { createdAt: { in: instants.slice(0, count) }, archivedAt: { notIn: instants.slice(0, count) } },
]);

describeOnStores('long lists', (store) => {
  beforeAll(async () => {
    await plant(store.db, hostileRecords());
  });

  it('find what comparing with each value finds', async () => {
    const found = new Set<number>();
    for (const where of CONDITIONS) {
      const plan = parseQuery({ family: 'resource', namespace: '/', where, includeArchived: true }, 'count');
      const expected = hostileRecords().filter((record) => holds(where, record)).length;
      expect([where, await countRecords(store.db, { predicate: rowPredicate({ kind: 'all' }), plan })]).toEqual([
        where,
        expected,
      ]);
      found.add(expected);
    }
    expect(found.size).toBeGreaterThan(8);
  });

  it('are above the fence, and the index is walked in its order', async () => {
    const visible = some(['/'], ['/a', '/b']);
    const where = { description: { in: texts(900) }, 'properties.label': { notIn: texts(900) } };
    const plan = parseQuery({ family: 'resource', namespace: '/', where, orderBy: [{ name: 'asc' }] }, 'query');
    const steps = await planOf(store.db, chosenStatement({ predicate: rowPredicate(visible), plan, after: null }));
    expect(readsOf(steps).map(({ node }) => node['Index Name'])).toEqual(['records_path_name', 'records_level1_name']);
    for (const { above } of readsOf(steps)) {
      const types = above.map((one) => one['Node Type']);
      const within = types.slice(types.lastIndexOf('Nested Loop') + 1);
      expect(within.filter((type) => type !== 'Subquery Scan')).toEqual(['Limit']);
    }
  });

  it('are sent once: a value that stands again as the same type is the same parameter', async () => {
    const list = ['1', '2'];
    const [row] = await store.db.read<{
      readonly values: unknown;
    }>(sql`SELECT json_build_array(${'1'}::text, ${'1'}::int, ${1}::int, ${'1'}::text, ${null}::text, ${list}::text[], ${list}::int[],
          ${list}::text[], ${true}::boolean, '{"a":1}'::jsonb \\? ${'a'}::text, '{"1":1}'::jsonb \\? ${'1'}::text) AS values`);
    expect(row?.values).toEqual(['1', 1, 1, '1', null, ['1', '2'], [1, 2], ['1', '2'], true, true, true]);
    await expect(store.db.read(sql`SELECT ${'x'}::text, ${'x'}::int`)).rejects.toThrow();
    // Under a name, too, and where it is so much that it gets none.
    for (let times = 0; times < 6; times += 1) {
      const [{ length, first } = { length: 0, first: '' }] = await store.db.read<{ length: number; first: string }>(
        sql`SELECT length(${'x'.repeat(times === 4 ? 200_000 : 10)}::text), ${'x'}::text AS first`,
      );
      expect([length, first]).toEqual([times === 4 ? 200_000 : 10, 'x']);
    }
  });

  it('make a query of the most conditions over roots of all kinds answer in time, however often it stands in it', async () => {
    const where = {
      or: Array.from({ length: 100 }, (_, index) => ({
        'properties.rank': { in: Array.from({ length: 1_000 }, (__, value) => 100_000 + 1_000 * index + value) },
      })),
    };
    const places = [1, 2, 3, 4, 5, 6].flatMap((depth) =>
      ['x', 'y', 'z'].map((name) => `/a/b/c/d/e/f`.slice(0, 2 * (depth - 1)) + `/${name}`),
    );
    const plan = parseQuery({ family: 'resource', namespace: '/', where, orderBy: [{ name: 'asc' }] }, 'query');
    const after = ['a', '01900000-0000-7000-8000-000000000000'];
    const statement = chosenStatement({ predicate: rowPredicate(some(['/', '/a', '/b'], places)), plan, after });
    expect(
      statement.bindings.filter((binding) => Array.isArray(binding) && binding.length === 1_000).length,
    ).toBeGreaterThan(1_000);
    // Each list sent for itself would be hundreds of megabytes, and take ten seconds; so it takes a quarter of one, or half.
    const patient = await openDatabase({ ...store.config, statementTimeout: 0 });
    const driver = mock.method(pg.Connection.prototype, 'bind').mock;
    await patient.read(statement);
    const sent = driver.calls.flatMap(({ arguments: [message] }: { readonly arguments: readonly unknown[] }) =>
      isBind(message) ? [message.values] : [],
    );
    driver.restore();
    await patient.close();
    expect(sent).toHaveLength(1);
    const lists = sent[0]?.filter((value) => value?.startsWith('{') === true).length;
    expect(lists).toBeGreaterThan(99);
    expect(lists).toBeLessThan(150);
  });
});

function isBind(message: unknown): message is { readonly values: readonly (string | null)[] } {
  return typeof message === 'object' && message !== null && 'values' in message;
}
