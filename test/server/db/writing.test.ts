// Transactions of requests: what travels together, what is committed, and what is left of a connection after a failure.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, type Database } from '../../../server/db/database.js';
import { rowsOf, sql, type Fragment } from '../../../server/db/sql.js';
import { describeOnStores } from '../../support/stores.js';
import { tripsOf } from '../../support/trips.js';
import { until } from '../../support/until.js';

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

  it('is rolled back when its time is up, wherever it is, and the connection works on', async () => {
    const hasty = await openDatabase({
      ...store.config,
      maxWriters: 1,
      statementTimeout: store.name === 'embedded' ? 900 : 300,
    });
    const pause = sql`SELECT count(*) FROM generate_series(1, ${20_000}::int)`;
    const begun = performance.now();
    const attempt = hasty.write(async ({ rows, run }) => {
      run(put(1));
      for (;;) await rows(pause);
    });
    await expect(attempt).rejects.toMatchObject({
      code: 'store.timeout',
      message: 'the transaction took longer than 300 ms',
    });
    expect(performance.now() - begun).toBeGreaterThan(250);
    expect(await stored()).toEqual([]);
    await hasty.write(({ rows }) => rows(put(2)));
    expect(await stored()).toEqual([2]);
    await hasty.close();
  });

  it('shares its time with those before it, if they belong together', async () => {
    const hasty = await openDatabase({ ...store.config, statementTimeout: store.name === 'embedded' ? 900 : 300 });
    const spent = { time: 0 };
    const wait = (): Promise<unknown> =>
      hasty.write(
        async ({ rows }) => {
          await rows(echo(1));
          await sleep(200);
          await rows(echo(2));
        },
        { spent },
      );
    await wait();
    expect(spent.time).toBeGreaterThan(150);
    await expect(wait()).rejects.toMatchObject({ code: 'store.timeout' });
    await hasty.close();
  });

  it('is not stopped any more once COMMIT has left', async () => {
    const hasty = await openDatabase({ ...store.config, statementTimeout: store.name === 'embedded' ? 900 : 300 });
    const attempt = hasty.write(
      async ({ rows, run }) => {
        await rows(echo(1));
        run(put(5));
        run(sql`SELECT count(*) FROM generate_series(1, ${100_000}::int)`);
      },
      { spent: { time: 299 } },
    );
    const outcome = await attempt.then(
      () => 'done',
      (error: unknown) => (error as { code: string }).code,
    );
    // Either is right on a slow machine, but what is stored is what was said.
    expect(await stored()).toEqual(outcome === 'done' ? [5] : []);
    await hasty.close();
  });

  it('of one asker leaves a connection to others', async () => {
    const wide = await openDatabase({ ...store.config, maxWriters: 3 });
    const most = store.name === 'embedded' ? 1 : 2;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let inside = 0;
    const greedy = Array.from({ length: 5 }, () =>
      wide.write(
        async ({ rows }) => {
          await rows(echo(1));
          inside += 1;
          if (inside <= most) await held;
          await rows(echo(2));
        },
        { asker: 'greedy' },
      ),
    );
    await until(() => inside === most);
    await sleep(50);
    expect(inside).toBe(most);
    const write = wide.pools().find(({ name }) => name === 'write');
    expect(write).toMatchObject({ open: most, waiting: 0 });
    const modest = wide.write(({ rows }) => rows(echo(3)), { asker: 'modest' });
    if (store.name === 'postgres') expect(await modest).toEqual([{ n: 3 }]);
    release();
    expect(await modest).toEqual([{ n: 3 }]);
    await Promise.all(greedy);
    expect(inside).toBe(5);
    await wide.close();
  });

  it('does not begin if nobody waits for it when its turn comes', async () => {
    const gone = new AbortController();
    const begun: number[] = [];
    const reason = new Error('gone');
    const first = db.write(
      async ({ rows }) => {
        await rows(echo(1));
        gone.abort(reason);
        await rows(echo(2));
      },
      { asker: 'ada' },
    );
    const second = db.write(
      async ({ rows }) => {
        begun.push(2);
        await rows(echo(3));
      },
      { asker: 'ada', signal: gone.signal },
    );
    await expect(second).rejects.toBe(reason);
    await first;
    expect(begun).toEqual([]);
  });
});
