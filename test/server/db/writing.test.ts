// Transactions of requests: what travels together, what is committed, and what is left of a connection after a failure.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { StoreClient } from '../../../server/db/connections.js';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { rowsOf, sql, type Fragment } from '../../../server/db/sql.js';
import { describeOnStores } from '../../support/stores.js';

const put = (n: number, text = 'x'): Fragment => sql`INSERT INTO numbers (n, text) VALUES (${n}::int, ${text}::text)`;
const echo = (n: number): Fragment => sql`SELECT ${n}::int AS n`;

describeOnStores('a transaction of a request', (store) => {
  let db: Database;

  beforeAll(async () => {
    await store.db.knex.raw('CREATE TABLE numbers (n int PRIMARY KEY, text text)');
    // One connection for all of them.
    db = await openDatabase({ ...store.config, maxWriters: 1 });
  });

  afterAll(() => db.close());

  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM numbers');
  });

  const stored = async (): Promise<readonly number[]> => {
    const rows = await rowsOf<{ n: number }>(store.db.knex, sql`SELECT n FROM numbers WHERE n >= ${0} ORDER BY n`);
    return rows.map(({ n }) => n);
  };

  async function tripsOf(work: () => Promise<unknown>): Promise<number> {
    // eslint-disable-next-line @typescript-eslint/unbound-method -- applied to the client that it is called on
    const { query } = StoreClient.prototype;
    let trips = 0;
    StoreClient.prototype.query = function (this: StoreClient, ...parameters: unknown[]) {
      trips += 1;
      return Reflect.apply(query, this, parameters);
    };
    try {
      await work();
    } finally {
      StoreClient.prototype.query = query;
    }
    return trips;
  }

  it('returns what the work returns, when it has committed', async () => {
    const result = await db.write(async ({ rows, run }) => {
      run(put(1));
      const [one, two] = await Promise.all([
        rows<{ n: number }>(echo(7)),
        rows<{ n: number }>(sql`SELECT ${8}::int AS n`),
      ]);
      run(put(2));
      return [...one, ...two];
    });
    expect(result).toEqual([{ n: 7 }, { n: 8 }]);
    expect(await stored()).toEqual([1, 2]);
  });

  it('takes one trip for what is asked for together, with BEGIN, and one for COMMIT with what is run before it', async () => {
    const trips = await tripsOf(() =>
      db.write(async ({ rows, run }) => {
        await Promise.all([rows(echo(1)), rows(echo(2))]);
        run(put(1));
        run(put(2));
      }),
    );
    expect(trips).toBe(2);
    expect(await stored()).toEqual([1, 2]);
  });

  it('leaves nothing if the work fails, and passes its error on', async () => {
    const failure = new Error('changed my mind');
    const attempt = db.write(async ({ rows, run }) => {
      run(put(1));
      await rows(echo(1));
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(await stored()).toEqual([]);
  });

  it.each([
    [
      'that was run for its effect, before COMMIT',
      (): Promise<unknown> =>
        db.write(async ({ rows, run }) => {
          await rows(echo(1));
          run(put(1));
          run(put(1));
        }),
    ],
    [
      'that was run before another',
      (): Promise<unknown> =>
        db.write(async ({ rows, run }) => {
          run(put(1));
          run(put(1));
          await rows(echo(1));
        }),
    ],
    [
      'that was asked for',
      (): Promise<unknown> =>
        db.write(async ({ rows }) => {
          await Promise.all([rows(put(1)), rows(put(1)), rows(echo(1))]);
        }),
    ],
  ])('leaves nothing if a statement fails %s, and the connection works on', async (_, attempt) => {
    for (let times = 0; times < 5; times += 1) await expect(attempt()).rejects.toMatchObject({ code: '23505' });
    expect(await stored()).toEqual([]);
    await db.write(({ rows }) => rows(put(3)));
    expect(await stored()).toEqual([3]);
  });

  it('does not call one a success that was rolled back, because a failure was caught', async () => {
    const attempt = db.write(async ({ rows, run }) => {
      run(put(1));
      await rows(put(1)).catch(() => undefined);
      return 'done';
    });
    await expect(attempt).rejects.toMatchObject({ code: 'store.not_committed' });
    expect(await stored()).toEqual([]);
  });

  it('is begun again, as often as it may be, if the store gave it up for another', async () => {
    let times = 0;
    const attempt = (retry: number): Promise<void> =>
      db.write(
        async ({ rows, run }) => {
          run(put((times += 1)));
          if (times < 3) await rows(sql`SELECT bailiwick.give_up(${times}::int)`);
        },
        { retry },
      );
    await store.db.knex.raw(`CREATE FUNCTION bailiwick.give_up(n int) RETURNS void LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'given up' USING ERRCODE = '40001'; END $$`);
    await expect(attempt(0)).rejects.toMatchObject({ code: '40001' });
    await attempt(4);
    expect(await stored()).toEqual([3]);
  });

  it('sends every kind of value as it is', async () => {
    const list = ['a"b', 'c\\d', '{e}', 'NULL', '', 'f,g', null, '\u{1f600}'];
    const values = await db.write(({ rows }) =>
      rows(
        sql`SELECT ${list}::text[] AS list, ${[1, -2]}::int[] AS numbers, ${null}::text AS nothing, ${true}::bool AS yes, ${1.5}::float8 AS half,
          ${'{"a": "\\u0007"}'}::jsonb AS json`,
      ),
    );
    expect(values).toEqual([{ list, numbers: [1, -2], nothing: null, yes: true, half: 1.5, json: { a: '\u0007' } }]);
  });
});
