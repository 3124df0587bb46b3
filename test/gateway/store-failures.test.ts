// A store that is slow, full, killed or gone, as a client of the gateway sees it: 503 and 504 with their codes and in
// time. Everything works again as soon as the store does, without a restart. On a real PostgreSQL, if there is one.
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Database, type DatabaseConfig, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { NEWEST_LOCK } from '../../server/db/migrations/0005-newest.js';
import { sql } from '../../server/db/sql.js';
import { B, C, type Made, make } from '../support/followed-policy.js';
import { call, callAdmin, openGateway, type Reply, type TestGateway } from '../support/gateway.js';
import { findPostgres, runSql, startPostgres, type TestPostgres } from '../support/postgres.js';
import { CLI } from '../support/run-cli.js';
import { type Network, startNetwork } from '../support/silent-network.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const NO_ADMINS = ['--admin-listen', 'none', '--admin-socket', 'none'];
const QUERY = { family: 'namespace', namespace: '/', reach: 'subtree' };
const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: failing\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - { id: ada, identity: orcid:ada, namespace: /, scopes: [namespace:read] }\n',
};
const STATEMENT_TIMEOUT = 400;
const TAKES_NO_WRITES = 'the store takes no writes: they are refused until it does';
/** Of a request that waits for a connection, and then for a statement, on a machine that has other things to do. */
const PATIENCE = 6_000;

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

interface Timed extends Reply {
  readonly milliseconds: number;
}

async function ask(served: TestGateway, key: string): Promise<Timed> {
  const begun = performance.now();
  const reply = await call(served.port, { key, body: QUERY });
  return { ...reply, milliseconds: performance.now() - begun };
}

/** So that no two arrive at the same time, of which the keys would be looked up together. */
async function askOneByOne(keys: readonly string[]): Promise<readonly Promise<Timed>[]> {
  const asked: Promise<Timed>[] = [];
  for (const each of keys) {
    asked.push(ask(served, each));
    await sleep(1);
  }
  return asked;
}

const outcome = ({ status, json }: Reply): string =>
  status === 200 ? '200' : `${String(status)} ${String(json?.['code'])}`;

/** No answer tells a client more than the code; none is a fault of ours. */
function expectProblem(reply: Timed, code: string): void {
  expect(outcome(reply)).toBe(code);
  expect(reply.headers['content-type']).toBe('application/problem+json');
  expect(Object.keys(reply.json ?? {}).sort()).toEqual(['code', 'requestId', 'status', 'title', 'type']);
  expect(reply.milliseconds).toBeLessThan(PATIENCE);
}

let served: TestGateway;
let db: Database;
let key: string;

async function open(config: DatabaseConfig): Promise<void> {
  const patient = await openDatabase({ ...config, ...PATIENT, statementTimeout: 0 });
  await migrate(patient);
  await patient.close();
  db = await openDatabase(config);
  // Without turns of one actor, so that it is the store that refuses.
  served = await openGateway({ db, concurrency: 0 });
  key = (await served.key()).text;
  // The first connections of a busy machine take longer than a request may wait.
  await until(async () => outcome(await ask(served, key)) === '200');
}

async function close(): Promise<void> {
  await served.dispose();
  await db.close();
}

function noFaultsOfOurs(): void {
  expect(served.lines.filter((line) => line['code'] === 'internal')).toEqual([]);
}

if (findPostgres() === null) {
  test.skip('a PostgreSQL that fails (none is installed here)', () => undefined);
} else {
  describe('a PostgreSQL that fails', () => {
    let server: TestPostgres;
    let databases = 0;

    beforeAll(async () => {
      const started = await startPostgres();
      if (started === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
      server = started;
    });
    afterAll(() => server.stop());
    afterEach(async () => {
      noFaultsOfOurs();
      await close();
    });

    let url: string;
    const openExternal = async (
      limits: { readonly statementTimeout?: number; readonly maxConnections?: number } = {},
    ): Promise<void> => {
      const name = `failing_${String(++databases)}`;
      await runSql(server.url, `CREATE DATABASE ${name}`);
      url = server.urlOf(name);
      await open({ kind: 'external', url, statementTimeout: STATEMENT_TIMEOUT, ...limits });
    };

    /** Somebody's transaction, which ends with the function. */
    const hold = async (statement: string): Promise<() => Promise<void>> => {
      const client = new pg.Client({ connectionString: url, application_name: 'holder' });
      client.on('error', () => undefined);
      await client.connect();
      await client.query('BEGIN');
      await client.query(statement);
      return () => client.end();
    };
    /** Holds the records, so that whoever reads them waits. */
    const lockRecords = (): Promise<() => Promise<void>> =>
      hold('LOCK TABLE bailiwick.records IN ACCESS EXCLUSIVE MODE');
    const gatewayBackends = "datname = current_database() AND application_name = 'bailiwick'";
    const waiting = async (count: number): Promise<void> => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await until(async () => {
        const { rows } = await client.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${gatewayBackends} AND wait_event_type = 'Lock'`,
        );
        return (rows[0]?.n ?? 0) >= count;
      });
      await client.end();
    };
    const linesOfWatch = (): readonly string[] =>
      served.lines.flatMap(({ message }) => (/^the store (?:is|takes) /.test(message) ? [message] : []));
    /** A crowd behind whom whoever looks waits for longer than they may. */
    const gather = (): (() => Promise<void>) => {
      let isBusy = true;
      const nap = sql`SELECT pg_sleep(${STATEMENT_TIMEOUT / 2000}::float8)`;
      const crowd = Array.from({ length: 60 }, async (_, index) => {
        while (isBusy) await (index % 2 === 0 ? db.vital : db.read)(nap).catch(() => sleep(10));
      });
      return async () => {
        isBusy = false;
        await Promise.all(crowd);
      };
    };
    const terminate = (): Promise<void> =>
      runSql(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${gatewayBackends}`);

    it('answers 504 for a statement that takes too long, and 200 when it no longer does', async () => {
      await openExternal();
      const release = await lockRecords();
      const replies = await Promise.all([ask(served, key), ask(served, key)]);
      for (const reply of replies) {
        expectProblem(reply, '504 db.timeout');
        expect(reply.milliseconds).toBeGreaterThan(STATEMENT_TIMEOUT - 50);
      }
      await release();
      expect(outcome(await ask(served, key))).toBe('200');
    });

    it('denies no act of an admin that is stored, whatever fails after COMMIT', async () => {
      await openExternal();
      const admins = await openGateway({ db, admin: true, mode: { kind: 'serve', policy: make('/a').policy } });
      const at = String(admins.admin?.socket);
      const act = (path: string, body: unknown): Promise<Reply> =>
        callAdmin(at, { method: 'POST', path: `/admin/v1/${path}`, body });
      const send = ({ bytes }: Made): Promise<Reply> => act('snapshots', Buffer.from(bytes));
      for (const made of [B, C]) {
        expect((await send(made)).status).toBe(201);
        expect((await act(`snapshots/${made.policy.digest}/activate`, {})).status).toBe(200);
      }
      // A statement that was decided by the policy before it, and that has not ended.
      const { group, one } = NEWEST_LOCK;
      const end = await hold(`SELECT pg_advisory_xact_lock_shared(${String(group)}, ${String(one)})`);
      const reason = 'too much is allowed';
      expect((await act('rollback', { reason })).json).toMatchObject({ code: 'db.timeout', outcome: 'unknown' });
      await end();
      const to = B.policy.digest;
      expect(await act('rollback', { reason, to })).toMatchObject({ status: 200, json: { generation: 3 } });
      // What the answer needs is read before COMMIT, so without it nothing is stored.
      const release = await hold('LOCK TABLE bailiwick.activations IN ACCESS EXCLUSIVE MODE');
      const D = make('/d');
      const { status, json } = await send(D);
      await release();
      expect([status, json?.['outcome']]).toEqual([504, undefined]);
      expect(await db.knex('snapshots').where({ snapshot: D.policy.digest })).toEqual([]);
      await admins.dispose();
    });

    it('answers 503 to who waits a second for a connection, and at once where too many wait', async () => {
      await openExternal({ statementTimeout: 20_000, maxConnections: 1 });
      const release = await lockRecords();
      const held = [ask(served, key)];
      await waiting(1);
      const reply = await ask(served, key);
      expectProblem(reply, '503 db.unavailable');
      expect(reply.milliseconds).toBeGreaterThan(900);

      const crowd = await Promise.all(await askOneByOne(Array<string>(100).fill(key)));
      for (const each of crowd) expectProblem(each, '503 db.unavailable');
      // 64 may wait; the rest are not made to.
      const refusedAtOnce = served.lines.filter(({ cause }) => cause === 'store.busy');
      expect(refusedAtOnce.length).toBeGreaterThan(0);

      await release();
      expect((await Promise.all(held)).map(outcome)).toEqual(['200']);
      expect((await Promise.all(Array.from({ length: 20 }, () => ask(served, key)))).map(outcome)).toEqual(
        Array<string>(20).fill('200'),
      );
    });

    it('answers 503 to a request whose backend is killed, and the next one as usual', async () => {
      await openExternal({ statementTimeout: 20_000 });
      for (let round = 0; round < 3; round += 1) {
        const release = await lockRecords();
        const asked = [ask(served, key), ask(served, key), ask(served, key)];
        await waiting(3);
        await terminate();
        for (const reply of await Promise.all(asked)) expectProblem(reply, '503 db.unavailable');
        await release();
        expect(outcome(await ask(served, key))).toBe('200');
      }
    });

    it('costs at most one answer when idle backends are killed', async () => {
      await openExternal();
      await Promise.all(Array.from({ length: 8 }, () => ask(served, key)));
      await terminate();
      const replies = [await ask(served, key), await ask(served, key), await ask(served, key)];
      expect(['200', '503 db.unavailable']).toContain(outcome(replies[0] as Timed));
      expect(replies.slice(1).map(outcome)).toEqual(['200', '200']);
    });

    it('answers 503 while the server is gone and 200 once it is back, without a restart of ours', async () => {
      await openExternal();
      for (let round = 0; round < 2; round += 1) {
        const seen = new Set<string>();
        let asking = true;
        const clients = Array.from({ length: 4 }, async () => {
          while (asking) {
            const reply = await ask(served, key);
            seen.add(outcome(reply));
            expect(reply.milliseconds).toBeLessThan(PATIENCE);
            await sleep(5);
          }
        });
        await sleep(50);
        await server.crash();
        await until(() => Promise.resolve(seen.has('503 db.unavailable')));
        expectProblem(await ask(served, key), '503 db.unavailable');
        // What needs no store is answered all the while.
        expect(outcome(await call(served.port, { path: '/nowhere', key }))).toBe('404 route.not_found');
        await server.start();
        await until(async () => outcome(await ask(served, key)) === '200');
        asking = false;
        await Promise.all(clients);
        // If it was gone for over 2 seconds, it has to say first which policy is in force.
        seen.delete('503 snapshot.unavailable');
        expect([...seen].sort()).toEqual(['200', '503 db.unavailable']);
        expect((await Promise.all(Array.from({ length: 20 }, () => ask(served, key)))).map(outcome)).toEqual(
          Array<string>(20).fill('200'),
        );
      }
    });

    it('is not ready, and says why, while the server is a standby, and is ready once that is promoted', async () => {
      await openExternal();
      const isReady = async (): Promise<boolean> =>
        (await call(served.port, { method: 'GET', path: '/readyz' })).status === 200;
      await until(isReady);
      await server.crash();
      writeFileSync(join(new URL(url).searchParams.get('host') ?? '', 'data', 'standby.signal'), '');
      await server.start();
      const fault = (): unknown => served.lines.findLast(({ message }) => message === TAKES_NO_WRITES)?.['reason'];
      await until(() => fault() === 'the server is a standby');
      await until(async () => !(await isReady()));
      await runSql(url, 'SELECT pg_promote()');
      await until(isReady);
      await until(() => linesOfWatch().at(-1) === 'the store takes writes again');
    });

    it('is not lost while it is only busy', async () => {
      await openExternal();
      const disperse = gather();
      // Longer than a server may be silent.
      const end = performance.now() + 10 * STATEMENT_TIMEOUT;
      const refusals: unknown[] = [];
      while (performance.now() < end) await db.ping().catch((error: unknown) => refusals.push(error));
      await disperse();
      expect(refusals.length).toBeGreaterThan(0);
      for (const error of refusals) expect(error).toMatchObject({ code: 'store.busy' });
      expect(linesOfWatch()).toEqual([]);
    });

    it('is survived by the process, which ends in order when it is asked to', async () => {
      await openExternal();
      const policy = await makeFolder(POLICY);
      const child = spawn(
        process.execPath,
        [CLI, 'serve', '--policy', policy, '--listen', '127.0.0.1:0', ...NO_ADMINS, '--format', 'json'],
        { env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: url }, stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let log = '';
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString();
      });
      const ended = once(child, 'exit');
      try {
        const [line] = (await once(child.stdout, 'data')) as [Buffer];
        const { port } = new URL(String((JSON.parse(line.toString()) as { url: unknown }).url));
        const query = (): Promise<Reply> => call(Number(port), { key, body: QUERY });
        expect(outcome(await query())).toBe('200');
        const asked = Array.from({ length: 10 }, query);
        await server.crash();
        for (const reply of await Promise.all(asked)) expect(outcome(reply)).toMatch(/^(?:200|503 db\.unavailable)$/);
        await server.start();
        await terminate();
        await until(async () => outcome(await query()) === '200');
        child.kill('SIGTERM');
        expect(await ended).toEqual([0, null]);
      } finally {
        child.kill('SIGKILL');
      }
      // Whatever nobody awaited would have ended the process, and said so.
      expect(log).not.toMatch(/cli\.unexpected|"code":"internal"|Unhandled/i);
    });

    /** With a gateway behind a network of its own. */
    const throughNetwork = async (use: (network: Network) => Promise<void>): Promise<void> => {
      await openExternal();
      const direct = served;
      const directDb = db;
      const network = await startNetwork(new URL(url).searchParams.get('host') ?? '');
      try {
        const through = new URL(url);
        through.searchParams.set('host', network.folder);
        db = await openDatabase({
          kind: 'external',
          url: through.href,
          statementTimeout: STATEMENT_TIMEOUT,
          maxConnections: 2,
        });
        // Without turns of one actor, so that it is the store that refuses.
        served = await openGateway({ db, concurrency: 0 });
        await use(network);
        network.swallow(false);
        await until(async () => outcome(await ask(served, key)) === '200');
        noFaultsOfOurs();
        await close();
      } finally {
        network.stop();
        served = direct;
        db = directDb;
      }
    };

    it('answers in time when the network swallows what is sent, and recovers with it', () =>
      throughNetwork(async (network) => {
        // Several at once, so that connections are open for whatever else the gateway asks meanwhile.
        const first = await Promise.all(Array.from({ length: 4 }, () => ask(served, key)));
        expect(new Set(first.map(outcome))).toEqual(new Set(['200']));
        network.swallow(true);
        const replies = await Promise.all(Array.from({ length: 4 }, () => ask(served, key)));
        for (const reply of replies) {
          expect(['503 db.unavailable', '504 db.timeout']).toContain(outcome(reply));
          expect(reply.milliseconds).toBeLessThan(PATIENCE);
        }
        expect(replies.map(outcome)).toContain('504 db.timeout');
      }));

    it('is lost when it says nothing any more, though all connections are in use', () =>
      throughNetwork(async (network) => {
        const disperse = gather();
        await sleep(2 * STATEMENT_TIMEOUT);
        expect(linesOfWatch()).toEqual([]);
        network.swallow(true);
        await until(() => linesOfWatch().length > 0);
        network.swallow(false);
        await disperse();
        await until(() => linesOfWatch().length > 1);
        expect(linesOfWatch()).toEqual([
          'the store is lost: requests are refused until it is back',
          'the store is back',
        ]);
      }));
  });
}

describe('an embedded store that has too much to do', () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await newDataDir();
  });
  afterAll(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('answers 504 on time and 503 to the crowd, and 200 when the engine is free again', async () => {
    await open({ kind: 'embedded', dataDir, statementTimeout: STATEMENT_TIMEOUT });
    const slow = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 0 });
    // Actors of their own: one alone waits behind itself, and takes no room from others.
    const keys: string[] = [];
    for (let index = 0; index < 120; index += 1) keys.push((await served.key({ actor: `a${String(index)}` })).text);
    // Looked up before, so that only their queries wait.
    for (const each of keys) await until(async () => outcome(await ask(served, each)) === '200');
    let isAsked = false;
    const sleeper = slow.knex
      .transaction(async (trx) => {
        while (!isAsked) await trx.raw('SELECT pg_sleep(1)');
      })
      .then(() => performance.now());
    // Until the engine sleeps, it answers.
    let late = await ask(served, key);
    while (outcome(late) === '200') late = await ask(served, key);
    expectProblem(late, '504 db.timeout');
    expect(late.milliseconds).toBeGreaterThan(STATEMENT_TIMEOUT - 50);

    const asked = await askOneByOne(keys);
    // As long as it takes here to ask, and not longer.
    isAsked = true;
    const crowd = await Promise.all(asked);
    const answered = performance.now();
    const counts = new Map<string, number>();
    for (const reply of crowd) counts.set(outcome(reply), (counts.get(outcome(reply)) ?? 0) + 1);
    // They wait together for the look-up of their keys. When the engine is free again, eight have a connection and 64 may wait;
    // the rest are told at once, no later than the others have their answers.
    const timesOf = (code: string): readonly number[] =>
      crowd.filter((reply) => outcome(reply) === code).map((reply) => reply.milliseconds);
    const [refused, answers] = [timesOf('503 db.unavailable'), timesOf('200')];
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.length).toBeGreaterThan(0);
    expect(Math.max(...refused)).toBeLessThan(Math.max(...answers) + STATEMENT_TIMEOUT);
    for (const { milliseconds } of crowd) expect(milliseconds).toBeLessThan(PATIENCE);
    expect([...counts.keys()].every((each) => each !== '500 internal')).toBe(true);

    expect(await sleeper).toBeLessThan(answered + 30_000);
    await until(async () => outcome(await ask(served, key)) === '200');
    noFaultsOfOurs();
    await slow.close();
    await close();
  });
});
