// A named statement gives the rows and the errors that knex gives for it, and leaves the connection as good as it was.
import { expect, it } from '@jest/globals';
import { runNamed } from '../../../server/db/run-named.js';
import { describeOnStores } from '../../support/stores.js';

const EVERY_TYPE = `SELECT n, n::text AS text, n::bigint AS big, n::numeric AS exact, n / 2.0::float8 AS half, n > 1 AS flag,
  NULL::text AS none, '\\x00ff'::bytea AS bytes, timestamptz '2027-01-01T00:00:00.123Z' AS at, '{"a":[1,null]}'::jsonb AS json,
  ARRAY['a', NULL] AS list, '' AS empty FROM generate_series(1, $1::int) AS n`;

describeOnStores('named statements', (store) => {
  const run = (name: string, text: string, values: readonly unknown[]): Promise<readonly unknown[]> =>
    runNamed(store.db.knex, { name, text, values });

  it('give the rows that knex gives, each time', async () => {
    const { rows } = await store.db.knex.raw<{ readonly rows: readonly unknown[] }>(EVERY_TYPE.replace('$1', '?'), [3]);
    expect(rows).toHaveLength(3);
    for (let times = 0; times < 3; times += 1) expect(await run('types', EVERY_TYPE, [3])).toEqual(rows);
    expect(await run('types', EVERY_TYPE, [0])).toEqual([]);
  });

  it('fail with the error of the store, and can be run again', async () => {
    const text = 'SELECT 10 / $1::int AS n';
    await expect(run('ratio', text, [0])).rejects.toMatchObject({ code: '22012' });
    expect(await run('ratio', text, [5])).toEqual([{ n: 2 }]);
    await expect(run('wrong', 'SELECT $1::int FROM nowhere', [1])).rejects.toMatchObject({ code: '42P01' });
    expect(await run('ratio', text, [2])).toEqual([{ n: 5 }]);
  });

  it('run side by side, and each answer is its own', async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const found = await Promise.all(numbers.map((n) => run('echo', 'SELECT $1::int AS n', [n])));
    expect(found).toEqual(numbers.map((n) => [{ n }]));
  });

  it('are heard by who listens to knex', async () => {
    const heard: unknown[] = [];
    const listen = (query: unknown): void => {
      heard.push(query);
    };
    store.db.knex.on('query', listen);
    await run('echo', 'SELECT $1::int AS n', [1]);
    store.db.knex.removeListener('query', listen);
    expect(heard).toEqual([{ sql: 'SELECT $1::int AS n', bindings: [1] }]);
  });
});
