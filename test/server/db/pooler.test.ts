// Poolers in front of PostgreSQL: one that keeps sessions serves, one that does not is found at the start, and one that
// is full or slow is not taken for either.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { StoreClient } from '../../../server/db/connections.js';
import { openDatabase } from '../../../server/db/database.js';
import { assertOwnSession } from '../../../server/db/pooler.js';
import { sql } from '../../../server/db/sql.js';
import { findPgbouncer, startPgbouncer, type TestPgbouncer } from '../../support/pgbouncer.js';
import { findPostgres, startPostgres, type TestPostgres } from '../../support/postgres.js';

/** What operators let pgbouncer ignore, after it has refused clients of every kind. */
const IGNORED =
  'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout, extra_float_digits';

if (findPgbouncer() === null || findPostgres() === null) {
  test.skip('poolers (pgbouncer or PostgreSQL is not installed here)', () => undefined);
} else {
  describe('pgbouncer', () => {
    let server: TestPostgres;
    let bouncer: TestPgbouncer | null = null;
    beforeAll(async () => {
      const started = await startPostgres();
      if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
      server = started;
    });
    afterAll(async () => {
      await bouncer?.stop();
      await server.stop();
    });

    const open = async (
      settings: readonly string[],
      parameters = '',
    ): Promise<Awaited<ReturnType<typeof openDatabase>>> => {
      await bouncer?.stop();
      bouncer = await startPgbouncer(server.url, settings);
      return openDatabase({ kind: 'external', url: `${bouncer.url}${parameters}`, statementTimeout: 2_345 });
    };

    test.each([
      ['transactions', ['pool_mode = transaction'], 'another session'],
      ['transactions, and ignores what it does not know', ['pool_mode = transaction', IGNORED], 'another session'],
      ['transactions in turn', ['pool_mode = transaction', 'server_round_robin = 1'], 'another session'],
      ['transactions in one session', ['pool_mode = transaction', 'default_pool_size = 1'], 'another session'],
      ['statements', ['pool_mode = statement'], 'refuses transactions'],
    ])(
      'that gives %s is refused at the start, and told from others',
      async (_, settings, message) => {
        await expect(open(settings)).rejects.toMatchObject({
          code: 'store.pooler',
          message: expect.stringContaining(message),
          help: expect.stringContaining('pool_mode = session'),
        });
      },
      30_000,
    );

    const SLOW_OR_FULL = {
      code: 'store.connections',
      message: expect.stringMatching(/slow or full.*pool has only one/),
      help: expect.stringMatching(/^wait.*pool_size/),
    };

    it('that is full is not told from one with a single session, and serves once it is not', async () => {
      await expect(open(['pool_mode = session', 'default_pool_size = 1'])).rejects.toMatchObject(SLOW_OR_FULL);
      await bouncer?.stop();
      bouncer = await startPgbouncer(server.url, ['pool_mode = session', 'default_pool_size = 2']);
      const { url } = bouncer;
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      await holder.query('SELECT 1');
      await expect(openDatabase({ kind: 'external', url })).rejects.toMatchObject(SLOW_OR_FULL);
      await holder.end();
      const database = await openDatabase({ kind: 'external', url });
      await database.close();
    }, 30_000);

    it('that answers late is not taken for one that gives others', async () => {
      await bouncer?.stop();
      bouncer = await startPgbouncer(server.url, ['pool_mode = session']);
      const { url } = bouncer;
      const connect = async (): Promise<StoreClient> => {
        const client = new StoreClient({ connectionString: url }, 0);
        await client.connect();
        return client;
      };
      const client = await connect();
      const [row] = await client.run<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid');
      const pid = row?.pid ?? 0;
      const second = async (): Promise<StoreClient> => {
        const other = await connect();
        process.kill(pid, 'SIGSTOP');
        return other;
      };
      try {
        await expect(assertOwnSession(client, second)).rejects.toMatchObject(SLOW_OR_FULL);
      } finally {
        process.kill(pid, 'SIGCONT');
        await client.end();
      }
    }, 30_000);

    it('that gives sessions serves, with our limits and without being told to ignore anything', async () => {
      const database = await open(['pool_mode = session', 'default_pool_size = 30']);
      const numbers = Array.from({ length: 40 }, (_, i) => i);
      const statement = (n: number): ReturnType<typeof sql> =>
        sql`SELECT ${n}::int AS n, current_setting('statement_timeout') AS time, current_setting('enable_seqscan') AS scan`;
      const rows = await Promise.all(numbers.map((n) => database.read(statement(n))));
      expect(rows).toEqual(numbers.map((n) => [{ n, time: '2345ms', scan: 'off' }]));
      const heard = new Promise<string>((resolve) => {
        const hear = (payload: string | null): void => {
          if (payload !== null) resolve(payload);
        };
        void database.listen('news', hear).then(() => database.knex.raw("NOTIFY news, 'x'"));
      });
      expect(await heard).toBe('x');
      await database.close();
    }, 30_000);

    it.each(['transaction', 'statement'])(
      'that gives a %s in front of the replica leaves the reads to the primary, and is said',
      async (mode) => {
        await bouncer?.stop();
        bouncer = await startPgbouncer(server.url, [`pool_mode = ${mode}`]);
        const database = await openDatabase({
          kind: 'external',
          url: server.url,
          readUrls: [bouncer.url],
          replicaLag: 400,
        });
        while (database.replicas()[0]?.fault === null) {
          expect(await database.readReplica(sql`SELECT ${7}::int AS n`)).toEqual([{ n: 7 }]);
          await sleep(20);
        }
        expect(database.replicas()[0]).toMatchObject({ isUsed: false, age: null, fault: 'pooler' });
        await database.close();
      },
      30_000,
    );

    it('is away, and does not refuse us, while its PostgreSQL is away or it has too many clients', async () => {
      await bouncer?.stop();
      bouncer = await startPgbouncer(server.url, ['pool_mode = session', 'max_client_conn = 1']);
      const { url } = bouncer;
      const failure = (): Promise<unknown> =>
        openDatabase({ kind: 'external', url, connectTimeout: 3_000 }).then(
          () => null,
          (error: unknown) => error,
        );
      const only = new pg.Client({ connectionString: url });
      only.on('error', () => undefined);
      await only.connect();
      expect(await failure()).toMatchObject({ code: 'store.unreachable' });
      await only.end();
      await server.crash();
      try {
        for (let times = 0; times < 3; times += 1)
          expect(await failure()).toMatchObject({ code: expect.stringMatching(/^store\.(?:unreachable|timeout)$/) });
      } finally {
        await server.start();
      }
    }, 60_000);

    it('that passes no limit of the URL on does not lift it', async () => {
      const database = await open(['pool_mode = session', IGNORED], '&statement_timeout=99');
      expect(
        await database.read(sql`SELECT current_setting('statement_timeout') AS time WHERE ${true}::boolean`),
      ).toEqual([{ time: '99ms' }]);
      await database.close();
    }, 30_000);
  });
}
