// Statements of requests give the rows and the errors that knex gives for them, leave the connection as good as it was, and are stopped,
// or never begun, when nobody waits for them any more.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { describeOnStores, testStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const EVERY_TYPE = (last: number): ReturnType<typeof sql> =>
  sql`SELECT n, n::text AS text, n::bigint AS big, n::numeric AS exact, n / 2.0::float8 AS half, n > 1 AS flag,
  NULL::text AS none, '\\x00ff'::bytea AS bytes, timestamptz '2027-01-01T00:00:00.123Z' AS at, '{"a":[1,null]}'::jsonb AS json,
  ARRAY['a', NULL] AS list, '' AS empty FROM generate_series(1, ${last}::int) AS n`;

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

/** Whoever asks for health waits this long for a connection of those that queries take. */
const IMPATIENT = { acquireTimeout: 1_000 };

describeOnStores('statements of requests', (store) => {
  it('give the rows that knex gives, each time', async () => {
    const { text, bindings } = EVERY_TYPE(3);
    const { rows } = await store.db.knex.raw<{ readonly rows: readonly unknown[] }>(text, [Number(bindings[0])]);
    expect(rows).toHaveLength(3);
    for (let times = 0; times < 5; times += 1) expect(await store.db.read(EVERY_TYPE(3))).toEqual(rows);
    expect(await store.db.read(EVERY_TYPE(0))).toEqual([]);
  });

  it('fail with the error of the store, and can be run again', async () => {
    const ratio = (by: number): Promise<unknown> => store.db.read(sql`SELECT 10 / ${by}::int AS n`);
    for (let times = 0; times < 5; times += 1) {
      await expect(ratio(0)).rejects.toMatchObject({ code: '22012' });
      expect(await ratio(5)).toEqual([{ n: 2 }]);
    }
    await expect(store.db.read(sql`SELECT ${1}::int FROM nowhere`)).rejects.toMatchObject({ code: '42P01' });
    expect(await ratio(2)).toEqual([{ n: 5 }]);
  });

  it('run side by side, and each answer is its own', async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index);
    const found = await Promise.all(numbers.map((n) => store.db.read(sql`SELECT ${n}::int AS n`)));
    expect(found).toEqual(numbers.map((n) => [{ n }]));
  });

  it('are not begun for a client that has already gone', async () => {
    const gone = new Error('gone');
    const signal = AbortSignal.abort(gone);
    expect(await failure(store.db.read(sql`SELECT ${1}::int AS n`, { signal }))).toBe(gone);
    expect(await store.db.read(sql`SELECT ${1}::int AS n`)).toEqual([{ n: 1 }]);
  });

  it('leave keys and health alone when they take all connections, and those that wait at once when they go', async () => {
    const narrow = await openDatabase({ ...store.config, ...IMPATIENT, maxConnections: 1, statementTimeout: 0 });
    const leaving = new AbortController();
    const { signal } = leaving;
    // On the embedded engine a transaction has the engine to itself: what comes meanwhile waits, and can still be withdrawn.
    const asked = narrow.transaction(async (transaction) => {
      await transaction.raw('SELECT 1');
      const slow = failure(narrow.read(sql`SELECT pg_sleep(${store.name === 'postgres' ? 30 : 0}::int)`, { signal }));
      await sleep(200);
      if (store.name === 'postgres') await narrow.ping();
      leaving.abort(new Error('gone'));
      const begun = performance.now();
      expect(await slow).toMatchObject({ message: 'gone' });
      // A third of what it would have slept.
      expect(performance.now() - begun).toBeLessThan(10_000);
    });
    await asked;
    for (let times = 0; times < 10; times += 1) {
      expect(await narrow.read(sql`SELECT ${times}::int AS n`)).toEqual([{ n: times }]);
    }
    await narrow.close();
  });
});

describeOnStores('transactions', (store) => {
  const code = (sqlState: string): string => `DO $$ BEGIN RAISE EXCEPTION USING errcode = '${sqlState}'; END $$`;

  it.each(['40001', '40P01'])(
    'that the store gives up with %s are begun again, as often as is said',
    async (sqlState) => {
      let times = 0;
      const work: Parameters<Database['transaction']>[0] = async (transaction) => {
        times += 1;
        if (times < 3) await transaction.raw(code(sqlState));
        return times;
      };
      expect(await store.db.transaction(work, { retry: 2 })).toBe(3);
      times = 0;
      await expect(store.db.transaction(work, { retry: 1 })).rejects.toMatchObject({ code: sqlState });
      expect(times).toBe(2);
      times = 0;
      await expect(store.db.transaction(work)).rejects.toMatchObject({ code: sqlState });
      expect(times).toBe(1);
    },
  );

  it('that fail otherwise are not', async () => {
    let times = 0;
    const attempt = store.db.transaction(
      async (transaction) => {
        times += 1;
        await transaction.raw(code('23505'));
      },
      { retry: 5 },
    );
    await expect(attempt).rejects.toMatchObject({ code: '23505' });
    expect(times).toBe(1);
  });
});

describeOnStores('what others announce', (store) => {
  const heard: (string | null)[] = [];
  const eventually = async (expected: readonly (string | null)[]): Promise<void> => {
    const end = Date.now() + 10_000;
    while (JSON.stringify(heard) !== JSON.stringify(expected) && Date.now() < end) await sleep(20);
    expect(heard).toEqual(expected);
  };

  it('is heard from the beginning, once, whoever sends it, and never after the end', async () => {
    const other = await openDatabase(store.config);
    const subscription = await store.db.listen('swaps', (payload) => heard.push(payload));
    await eventually([null]);
    await other.knex.raw("SELECT pg_notify('swaps', 'one')");
    await store.db.knex.raw("SELECT pg_notify('others', 'none'), pg_notify('swaps', 'two')");
    await eventually([null, 'one', 'two']);
    await subscription.close();
    await other.knex.raw("SELECT pg_notify('swaps', 'three')");
    await sleep(100);
    await eventually([null, 'one', 'two']);
    await other.close();
  });
});

describeOnStores(
  'what others announce, when whoever owns the store leaves',
  (store) => {
    it('is heard from the next owner', async () => {
      const owner = await store.open();
      const other = await openDatabase(owner.config);
      const heard: (string | null)[] = [];
      const untilHeard = (count: number): Promise<void> =>
        until(() => heard.length >= count, `${String(count)} that are heard`);
      await other.listen('swaps', (payload) => heard.push(payload));
      await owner.database.knex.raw("SELECT pg_notify('swaps', 'one')");
      await untilHeard(2);
      await owner.database.close();
      await untilHeard(3);
      await other.knex.raw("SELECT pg_notify('swaps', 'two')");
      await untilHeard(4);
      expect(heard).toEqual([null, 'one', null, 'two']);
      await other.close();
      await owner.dispose();
    });
  },
  testStores().filter(({ name }) => name === 'embedded'),
);

describe('on a PostgreSQL that ends connections', () => {
  describeOnStores(
    'what others announce',
    (store) => {
      let db: Database;
      beforeAll(async () => {
        db = await openDatabase(store.config);
      });
      afterAll(() => db.close());

      it('is listened for again, and said that something may have been missed', async () => {
        const heard: (string | null)[] = [];
        await db.listen('swaps', (payload) => heard.push(payload));
        await store.db.knex.raw(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
        await until(() => heard.length >= 2);
        await store.db.knex.raw("SELECT pg_notify('swaps', 'again')");
        await until(() => heard.length >= 3);
        expect(heard).toEqual([null, null, 'again']);
      });
    },
    testStores().filter(({ name }) => name === 'postgres'),
  );
});
