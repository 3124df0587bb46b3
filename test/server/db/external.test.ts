// A PostgreSQL of the operator: what is reported when it cannot be used, and that a server that kills connections,
// restarts or stalls only causes late answers.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { openDatabase } from '../../../server/db/database.js';
import type { Database } from '../../../server/db/database.js';
import { READY_IDLE, TYPE, errorFrame, greeting } from '../../../server/db/embedded/wire.js';
import { externalSource } from '../../../server/db/external.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { sql } from '../../../server/db/sql.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { DATABASE_LIMITS } from '../../../server/limits/store.js';
import type { TestPostgres } from '../../support/postgres.js';
import { findPostgres, runSql, startPostgres } from '../../support/postgres.js';
import { PATIENT } from '../../support/stores.js';
import { until } from '../../support/until.js';

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

/** All of an error that a log might show. */
function spelled(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.stack, JSON.stringify(error), spelled(error.cause)].join('\n');
}

describe('a database URL', () => {
  test.each([
    ['no URL', 'hunter2-nonsense', 'store.url'],
    ['of another database', 'mysql://admin:hunter2@localhost/db', 'store.url'],
    ['with a broken port', 'postgres://admin:hunter2@localhost:99999999/db', 'store.url'],
    ['with a key file that is not there', 'postgres://admin:hunter2@localhost/db?sslkey=/nowhere/hunter2', 'store.tls'],
    ['with a CA file that is not there', 'postgres://admin:hunter2@localhost/db?sslrootcert=/nowhere/ca', 'store.tls'],
    ['with a client certificate that is not there', 'postgres://a:hunter2@localhost/b?sslcert=/nowhere', 'store.tls'],
    [
      'with a limit that the driver does not keep',
      'postgres://admin:hunter2@localhost/db?query_timeout=9',
      'store.url',
    ],
    [
      'with a time that PostgreSQL would not take',
      'postgres://admin:hunter2@localhost/db?statement_timeout=30x',
      'store.url',
    ],
    [
      'with such a time among its options',
      'postgres://admin:hunter2@localhost/db?options=-c%20lock_timeout%3D1w',
      'store.url',
    ],
    ['with an unknown sslmode', 'postgres://admin:hunter2@localhost/db?sslmode=bogus', 'store.tls'],
  ])('%s is refused without being quoted', async (_, url, code) => {
    const error = await failure(openDatabase({ kind: 'external', url }));
    expect(error).toMatchObject({ name: 'StoreError', code });
    expect(spelled(error)).not.toContain('hunter2');
  });

  it('with a time that cannot be read says how to write it', async () => {
    const error = await failure(openDatabase({ kind: 'external', url: 'postgres://localhost/db?lock_timeout=5sec' }));
    expect(error).toHaveProperty('message', expect.stringMatching(/`lock_timeout`.*such as `30s` or `500ms`/));
  });

  it('where nothing listens says where, and no password', async () => {
    const error = await failure(openDatabase({ kind: 'external', url: 'postgres://admin:hunter2@127.0.0.1:1/db' }));
    expect(error).toMatchObject({ code: 'store.unreachable' });
    expect(error).toHaveProperty('message', expect.stringContaining('127.0.0.1:1, database db'));
    expect(spelled(error)).not.toContain('hunter2');
  });
});

it('a server that says goodbye with its answer costs one request, not those after it', async () => {
  // The driver hears of the end before the connection is anybody's; the socket stays open, so nothing else tells.
  const server = await partingServer(2);
  const database = await openDatabase({ kind: 'external', url: server.url, maxConnections: 1 });
  const ask = (): Promise<unknown> => database.knex.raw('select 1');
  expect(toStoreProblem(await failure(ask()))).toMatchObject({ code: 'db.unavailable' });
  await ask();
  await ask();
  expect(server.clients()).toBe(3);
  await database.close();
  server.close();
});

it('a server that can be reached again is asked once whether it can', async () => {
  const server = await partingServer(0);
  const { url, close } = server;
  const { connectTimeout, idleInTransaction } = DATABASE_LIMITS;
  const source = externalSource({ url, statementTimeout: 0, idleInTransaction, connectTimeout, acquireTimeout: 1_000 });
  await failure(source.reach(() => Promise.reject(new Error('away'))));
  await source.assertOpens();
  await source.assertOpens();
  expect(server.clients()).toBe(1);
  close();
});

if (findPostgres() === null) {
  test.skip('a PostgreSQL of the operator (none is installed here)', () => undefined);
} else {
  describe('a PostgreSQL of the operator', () => {
    let server: TestPostgres;
    let database: Database;

    beforeAll(async () => {
      const started = await startPostgres();
      if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
      server = started;
      await runSql(
        server.url,
        'create schema bailiwick; create table bailiwick.log (id int primary key); create table bailiwick.records (id uuid, revision int)',
      );
      database = await openDatabase({ kind: 'external', url: server.url, statementTimeout: 400, maxConnections: 2 });
    });
    afterAll(async () => {
      await database.close();
      await server.stop();
    });

    const killAll = (): Promise<void> =>
      runSql(
        server.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
      );

    it('sees us by name, with our limits', async () => {
      const { rows } = await database.knex.raw<{ rows: unknown[] }>(
        `select application_name, current_setting('statement_timeout') as statement, current_setting('idle_in_transaction_session_timeout') as idle
         from pg_stat_activity where pid = pg_backend_pid()`,
      );
      expect(rows).toEqual([{ application_name: 'bailiwick', statement: '400ms', idle: '10s' }]);
    });

    it.each([
      ['statement_timeout=30s', 'statement_timeout', '30s'],
      ['statement_timeout=1500', 'statement_timeout', '1500ms'],
      ['statement_timeout=0.5%20min', 'statement_timeout', '30s'],
      ['statement_timeout=0', 'statement_timeout', '0'],
      ['lock_timeout=2s', 'lock_timeout', '2s'],
      ['idle_in_transaction_session_timeout=1h', 'idle_in_transaction_session_timeout', '1h'],
      ['options=-c%20statement_timeout%3D30s', 'statement_timeout', '30s'],
      ['options=--statement-timeout%3D45s%20-c%20lock_timeout%3D1min', 'statement_timeout', '45s'],
      ['options=-c%20statement_timeout%3D45s&statement_timeout=2min', 'statement_timeout', '2min'],
      ['options=-c%20idle_in_transaction_session_timeout%3D7s', 'idle_in_transaction_session_timeout', '7s'],
      ['application_name=ours', 'statement_timeout', '400ms'],
    ])('takes a URL with %s to mean what it means to PostgreSQL', async (parameter, name, shown) => {
      const url = `${server.url}&${parameter}`;
      const own = await openDatabase({ kind: 'external', url, statementTimeout: 400, maxConnections: 1 });
      const { rows } = await own.knex.raw<{ rows: unknown[] }>('select current_setting(?) as shown', [name]);
      expect(rows).toEqual([{ shown }]);
      await own.close();
    });

    it('lets a statement take as long as it takes where there is no limit, whatever its role is set to', async () => {
      await runSql(server.url, "CREATE ROLE hasty SUPERUSER LOGIN; ALTER ROLE hasty SET statement_timeout = '100ms'");
      const url = server.url.replace('//postgres@', '//hasty@');
      const own = await openDatabase({ kind: 'external', url, statementTimeout: 0, maxConnections: 1 });
      await own.knex.raw('select pg_sleep(0.5)');
      await own.close();
    });

    it('lets a statement take as long as the URL says', async () => {
      const url = `${server.url}&statement_timeout=30s`;
      const own = await openDatabase({ kind: 'external', url, statementTimeout: 200, maxConnections: 1 });
      await own.knex.raw('select pg_sleep(1.2)');
      await own.close();
    });

    it('that is away when we begin to listen is heard once it is back', async () => {
      await server.crash();
      const heard: (string | null)[] = [];
      const listening = database.listen('late', (payload) => heard.push(payload));
      await Promise.race([listening, failure(listening)]);
      await server.start();
      await until(() => heard.length > 0);
      await runSql(server.url, "notify late, 'news'");
      await until(() => heard.length > 1);
      expect(heard).toEqual([null, 'news']);
      await (await listening).close();
    });

    it('that has no such database or user refuses the connection with a code of its own', async () => {
      expect(await failure(openDatabase({ kind: 'external', url: server.urlOf('nowhere') }))).toMatchObject({
        code: 'store.refused',
      });
    });

    it('that kills idle connections costs no request', async () => {
      await Promise.all([database.ping(), database.ping()]);
      await killAll();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await database.ping();
    });

    it('that kills a transaction loses it whole, and never runs the rest outside of it', async () => {
      const attempt = inTransaction(database.knex, async (trx) => {
        await trx('log').insert({ id: 1 });
        await killAll();
        await trx('log')
          .insert({ id: 2 })
          .catch(() => undefined); // goes on as if nothing had been
        await trx('log').insert({ id: 3 });
      });
      expect(toStoreProblem(await failure(attempt))).toMatchObject({ code: 'db.unavailable' });
      expect(await database.knex('log').whereIn('id', [1, 2, 3])).toEqual([]);
    });

    it('that takes too long is a timeout, and the connection is good again', async () => {
      const error = await failure(database.knex.raw('select pg_sleep(5)'));
      expect(toStoreProblem(error)).toMatchObject({ code: 'db.timeout' });
      await database.ping();
    });

    it('with all connections in use makes a request wait a second, not longer', async () => {
      const patient = await openDatabase({ kind: 'external', url: server.url, statementTimeout: 0, maxConnections: 1 });
      const sleeper = patient.knex.raw('select pg_sleep(3)').then(() => 'slept');
      await new Promise((resolve) => setTimeout(resolve, 50));
      const error = await Promise.race([sleeper, failure(patient.knex.raw('select 1'))]);
      expect(toStoreProblem(error)).toMatchObject({ code: 'db.unavailable' });
      expect(await sleeper).toBe('slept');
      await patient.ping();
      await patient.close();
    });

    it('refuses the 65th that would wait, at once', async () => {
      const patient = { ...PATIENT, statementTimeout: 0 };
      const narrow = await openDatabase({ kind: 'external', url: server.url, maxConnections: 1, ...patient });
      const sleeper = narrow.knex.raw('select pg_sleep(2)');
      const first = sleeper.then(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const waiting = Array.from({ length: 64 }, async () => {
        await narrow.knex.raw('select 1');
      });
      await new Promise((resolve) => setImmediate(resolve));
      const error = await Promise.race([first, failure(Promise.resolve(narrow.knex.raw('select 1')))]);
      expect(error).toMatchObject({ code: 'store.busy' });
      await Promise.all([first, ...waiting]);
      await narrow.close();
    });

    it('that goes away and comes back needs no restart of ours', async () => {
      await database.ping();
      const restarted = server.restart();
      await new Promise((resolve) => setTimeout(resolve, 30));
      const during = await failure(database.ping());
      if (during !== 'no failure') expect(toStoreProblem(during)).toMatchObject({ code: 'db.unavailable' });
      await restarted;
      await database.ping();
    });

    it('gives its pools the sizes and patience that are set', async () => {
      const set = { statementTimeout: 5_000, maxConnections: 1, maxVital: 3, acquireTimeout: 1_000 };
      const small = await openDatabase({ kind: 'external', url: server.url, ...set });
      const sleep = sql`select pg_sleep(${2}::float8)`;
      const first = small.read(sleep);
      expect(await Promise.race([first, failure(small.read(sleep))])).toMatchObject({ code: 'store.busy' });
      await first;
      const alone = performance.now();
      await small.vital(sleep);
      const together = performance.now();
      await Promise.all([small.vital(sleep), small.vital(sleep), small.vital(sleep)]);
      // Two, one after the other, would take twice as long as one.
      expect(performance.now() - together).toBeLessThan(1.8 * (together - alone));
      await small.close();
    });

    it('behind a network that goes silent is a timeout, and is given up', async () => {
      const silent = await silentProxy(server.url);
      const behind = await openDatabase({
        kind: 'external',
        url: silent.url,
        statementTimeout: 200,
        maxConnections: 1,
      });
      await behind.ping();
      silent.mute();
      const begun = performance.now();
      expect(toStoreProblem(await failure(behind.ping()))).toMatchObject({ code: 'db.timeout' });
      // Without a limit it would wait for the system, which takes minutes.
      expect(performance.now() - begun).toBeLessThan(30_000);
      silent.unmute();
      await behind.ping(); // on a new connection
      await behind.close();
      silent.close();
    });
  });
}

/** Answers every query with nothing, and the first query of one client, counted from 1, with a goodbye behind it. */
async function partingServer(parting: number): Promise<{ url: string; clients: () => number; close: () => void }> {
  const sockets: Socket[] = [];
  const done = Buffer.from('C\0\0\0\u0008SET\0', 'latin1');
  const server = createServer((socket) => {
    const number = sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(greeting(number, new Map()));
      socket.on('data', (chunk) => {
        if (chunk[0] !== TYPE.query) return;
        const goodbye = number === parting ? errorFrame('FATAL', '57P01', 'leaving') : Buffer.alloc(0);
        socket.write(Buffer.concat([done, READY_IDLE, goodbye]));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://somebody@127.0.0.1:${String(port)}/postgres`,
    clients: () => sockets.length,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A TCP front of the server that can swallow all traffic of the connections it has. */
async function silentProxy(
  serverUrl: string,
): Promise<{ url: string; mute: () => void; unmute: () => void; close: () => void }> {
  const { connect } = await import('node:net');
  const folder = new URL(serverUrl).searchParams.get('host') ?? '';
  const sockets: Socket[] = [];
  let muted = false;
  const proxy = createServer((near) => {
    const far = connect(`${folder}/.s.PGSQL.5432`);
    const mutedFromNow = { value: false };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => {
        mutedFromNow.value ||= muted;
        if (!mutedFromNow.value) to.write(chunk);
      });
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      sockets.push(from);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `postgres://postgres@127.0.0.1:${String(port)}/postgres`,
    mute: () => (muted = true),
    unmute: () => (muted = false),
    close: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
