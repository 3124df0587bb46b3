// One actor asks for much more than its share, in legal queries that take seconds each, and hangs up on them. Measures
// what another actor notices of that, compared with the same requests when nobody is greedy.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { SHARE_LIMITS } from '../../../server/limits/http.js';
import { call, openGateway, openSocket, type TestGateway } from '../../support/gateway.js';
import { describeOnStores, PATIENT } from '../../support/stores.js';
import { until } from '../../support/until.js';

const AT_ONCE = 4;
const TOO_MANY = 5;
/** Requests of the greedy actor at any time: more than may wait, or as many as keep a store busy that runs one after the other. */
const ASKED = { postgres: AT_ONCE + SHARE_LIMITS.waiting + TOO_MANY, embedded: 3 * AT_ONCE };
/**
 * Milliseconds that a statement may take. On PostgreSQL that is more than the test waits for anything: a statement that ends was told to
 * stop. The embedded store's queries get a third of it.
 */
const STATEMENT = { postgres: 600_000, embedded: 2_000 };
/** Records that a heavy query looks through: on PostgreSQL so many that it does not end while the test goes on. */
const RECORDS = { postgres: 400, embedded: 20 };
const ROUNDS = 2;
/** On PostgreSQL the modest actor waits for nobody: at most so many times as long as at another gateway to the same busy server. */
const SLOWER = 10;
/**
 * On the embedded store it waits for the statement that runs, for its key and for its query, and again for each connection that is made
 * first: as a rule and at worst so many times as long as one heavy query takes alone.
 */
const HEAVIES = { usual: 5, worst: 9 };

const HEAVY = {
  family: 'resource',
  namespace: '/',
  reach: 'subtree',
  where: {
    or: Array.from({ length: 100 }, (_, i) => ({
      'properties.l': { hasAny: Array.from({ length: 20 }, (_value, j) => -1 - j - 100 * i) },
    })),
  },
};

describeOnStores('a greedy actor beside a modest one', (store) => {
  let db: Database;
  let open: TestGateway;
  /** To the same store, with connections and turns of its own. */
  let calmDb: Database;
  let calm: TestGateway;

  beforeAll(async () => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
       SELECT gen_random_uuid(), 2, '/lists/', 'list ' || g, l.properties, 1, now(), now(), 'test' FROM generate_series(1, ?::int) AS g,
         (SELECT jsonb_build_object('l', jsonb_agg(i)) AS properties FROM generate_series(1, 5000) AS i) AS l`,
      [RECORDS[store.name]],
    );
    // How long the modest actor waits for a connection is part of what it waits.
    const patient = store.name === 'postgres' ? PATIENT : {};
    db = await openDatabase({ ...store.config, ...patient, statementTimeout: STATEMENT[store.name] });
    open = await openGateway({ db, concurrency: AT_ONCE });
    calmDb = await openDatabase({ ...store.config, ...patient });
    calm = await openGateway({ db: calmDb });
    // The first call of a process compiles what answers are checked by, which takes seconds on a busy machine.
    await call(calm.port, { path: '/nowhere' });
  });
  afterAll(async () => {
    for (const one of [open, calm]) await one.dispose();
    for (const one of [db, calmDb]) await one.close();
  });

  /** The heavy statements that PostgreSQL runs: who runs them, and since when. */
  const running = async (): Promise<readonly unknown[]> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly unknown[] }>(
      "SELECT pid, xact_start FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%jsonb_typeof%' AND pid <> pg_backend_pid() ORDER BY pid",
    );
    return rows;
  };

  it('has its share and no more, and all that it asked for ends when it hangs up', async () => {
    const [greedy, modest] = await Promise.all([open.key({ actor: 'greedy' }), open.key({ actor: 'modest' })]);
    const alone = store.name === 'postgres' ? 0 : await timed(() => call(open.port, { key: greedy.text, body: HEAVY }));
    const asked = await Promise.all(
      Array.from({ length: ASKED[store.name] }, () => ask(open.port, greedy.text, HEAVY)),
    );
    const told = (start: string): readonly string[] =>
      asked.map(({ answer }) => answer()).filter((answer) => answer.startsWith(`HTTP/1.1 ${start} `));
    if (store.name === 'postgres') {
      await until(() => told('429').length >= TOO_MANY);
      for (const answer of told('429')) {
        expect(answer).toContain('"code":"limit.rate"');
        expect(answer).toContain(`RateLimit-Policy: "concurrency";q=${String(AT_ONCE)};w=1`);
      }
      await until(async () => (await running()).length >= AT_ONCE);
    }

    const before = store.name === 'postgres' ? await running() : [];
    const rounds: Round[] = [];
    for (let i = 0; i < ROUNDS; i += 1) rounds.push(await round({ open, db, key: modest.text }));
    if (store.name === 'postgres') {
      const elsewhere: Round[] = [];
      for (let i = 0; i < ROUNDS; i += 1) elsewhere.push(await round({ open: calm, db: calmDb, key: modest.text }));
      process.stdout.write(`beside a greedy actor, postgres: ${shown(rounds)}; elsewhere: ${shown(elsewhere)}\n`);
      // It was answered while the same statements ran on.
      expect(before).toHaveLength(AT_ONCE);
      expect(await running()).toEqual(before);
      expect(whole(rounds)).toBeLessThan(SLOWER * whole(elsewhere));
    } else {
      process.stdout.write(
        `beside a greedy actor, embedded: ${shown(rounds)}; a heavy query: ${alone.toFixed(0)} ms\n`,
      );
      expect(told('504')[0]).toContain('"code":"db.timeout"');
      for (const what of ASKS) {
        const list = rounds.map((one) => one[what]);
        expect(median(list)).toBeLessThan(HEAVIES.usual * alone);
        expect(Math.max(...list)).toBeLessThan(HEAVIES.worst * alone);
      }
    }

    for (const { socket } of asked) socket.destroy();
    if (store.name === 'postgres') {
      await until(async () => (await running()).length === 0);
    } else {
      // One is in the engine, and none of the others is begun.
      await db.ping();
      const free = await timed(() => db.ping());
      expect(free).toBeLessThan(STATEMENT.embedded / 3);
    }
  });
});

const ASKS = ['whoami', 'query', 'ping'] as const;

/** Milliseconds of each. */
type Round = Readonly<Record<(typeof ASKS)[number], number>>;

interface Door {
  readonly open: TestGateway;
  readonly db: Database;
  readonly key: string;
}

async function round({ open: { port }, db, key }: Door): Promise<Round> {
  const answered = async (asked: Parameters<typeof call>[1]): Promise<void> => {
    expect(await call(port, { key, ...asked })).toMatchObject({ status: 200 });
  };
  return {
    whoami: await timed(() => answered({ method: 'GET', path: '/api/v1/whoami' })),
    query: await timed(() => answered({ body: { family: 'namespace', namespace: '/' } })),
    ping: await timed(() => db.ping()),
  };
}

interface Asked {
  readonly socket: Socket;
  readonly answer: () => string;
}

/** Asks, and a second after each answer again, until its socket is destroyed. */
async function ask(port: number, key: string, body: unknown): Promise<Asked> {
  const socket = await openSocket(port);
  const text = JSON.stringify(body);
  const send = (): unknown =>
    socket.write(
      `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${String(text.length)}\r\n\r\n${text}`,
    );
  let answer = '';
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString('latin1');
    const again = setTimeout(send, 1_000);
    socket.once('close', () => {
      clearTimeout(again);
    });
  });
  socket.on('error', () => undefined);
  socket.setMaxListeners(0);
  send();
  return { socket, answer: () => answer };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[list.length >> 1] ?? NaN;
}

function whole(rounds: readonly Round[]): number {
  return rounds.reduce((sum, one) => ASKS.reduce((all, what) => all + one[what], sum), 0);
}

function shown(rounds: readonly Round[]): string {
  return ASKS.map((what) => {
    const list = rounds.map((one) => one[what]);
    return `${what} ${median(list).toFixed(0)} ms (at worst ${Math.max(...list).toFixed(0)})`;
  }).join(', ');
}
