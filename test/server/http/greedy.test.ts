// One actor asks for much more than its share, in legal queries that take seconds each, and hangs up on them; what another one
// notices of that, in milliseconds.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { SHARE_LIMITS } from '../../../server/limits/http.js';
import { call, openGateway, openSocket, type TestGateway } from '../../support/gateway.js';
import { describeOnStores } from '../../support/stores.js';

const AT_ONCE = 4;
const TOO_MANY = 5;
/** Requests of the greedy actor at any time: more than may wait, or as many as keep a store busy that runs one after the other. */
const ASKED = { postgres: AT_ONCE + SHARE_LIMITS.waiting + TOO_MANY, embedded: 3 * AT_ONCE };
/** Milliseconds that a statement may take: a PostgreSQL is to be told to stop long before; the embedded store's queries get a third of it. */
const STATEMENT = { postgres: 30_000, embedded: 3_000 };
/**
 * What the modest actor waits, as a rule and at worst, with room for a slow machine. On the embedded store it waits for the statement that
 * runs, for its key and for its query, and again for each connection that is made first.
 */
const USUAL = { postgres: 1_000, embedded: 5_000 };
const WORST = { postgres: 3_000, embedded: 9_000 };

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

  beforeAll(async () => {
    await store.db.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
       SELECT gen_random_uuid(), 2, '/lists/', 'list ' || g, l.properties, 1, now(), now(), 'test' FROM generate_series(1, 20) AS g,
         (SELECT jsonb_build_object('l', jsonb_agg(i)) AS properties FROM generate_series(1, 5000) AS i) AS l`,
    );
    db = await openDatabase({ ...store.config, statementTimeout: STATEMENT[store.name] });
    open = await openGateway({ db, concurrency: AT_ONCE });
  });
  afterAll(async () => {
    await open.dispose();
    await db.close();
  });

  const running = async (): Promise<number> => {
    const { rows } = await store.db.knex.raw<{ rows: readonly { readonly n: number }[] }>(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%jsonb_typeof%'",
    );
    return (rows[0]?.n ?? 0) - 1; // this one says so itself
  };

  it('has its share and no more, and all that it asked for ends when it hangs up', async () => {
    const [greedy, modest] = await Promise.all([open.key({ actor: 'greedy' }), open.key({ actor: 'modest' })]);
    const asked = await Promise.all(
      Array.from({ length: ASKED[store.name] }, () => ask(open.port, greedy.text, HEAVY)),
    );
    const told = (start: string): readonly string[] =>
      asked.map(({ answer }) => answer()).filter((answer) => answer.startsWith(`HTTP/1.1 ${start} `));
    if (store.name === 'postgres') {
      for (let i = 0; i < 500 && told('429').length < TOO_MANY; i += 1) await sleep(10);
      expect(told('429').length).toBeGreaterThanOrEqual(TOO_MANY);
      for (const answer of told('429')) {
        expect(answer).toContain('"code":"limit.rate"');
        expect(answer).toContain(`RateLimit-Policy: "concurrency";q=${String(AT_ONCE)};w=1`);
      }
    }

    const times = { query: [] as number[], whoami: [] as number[], ping: [] as number[] };
    for (let i = 0; i < 2; i += 1) {
      times.whoami.push(
        await timed(async () => {
          expect((await call(open.port, { method: 'GET', path: '/api/v1/whoami', key: modest.text })).status).toBe(200);
        }),
      );
      times.query.push(
        await timed(async () => {
          const body = { family: 'namespace', namespace: '/' };
          expect((await call(open.port, { key: modest.text, body })).status).toBe(200);
        }),
      );
      times.ping.push(await timed(() => db.ping()));
    }
    process.stdout.write(`beside a greedy actor, ${store.name}: ${shown(times)}\n`);
    for (const list of Object.values(times)) {
      expect(median(list)).toBeLessThan(USUAL[store.name]);
      expect(Math.max(...list)).toBeLessThan(WORST[store.name]);
    }
    if (store.name === 'postgres') expect(await running()).toBe(AT_ONCE);
    else expect(told('504')[0]).toContain('"code":"db.timeout"');

    for (const { socket } of asked) socket.destroy();
    if (store.name === 'postgres') {
      for (let i = 0; i < 100 && (await running()) > 0; i += 1) await sleep(20);
      expect(await running()).toBe(0);
    } else {
      // One is in the engine, and none of the others is begun.
      await db.ping();
      const free = await timed(() => db.ping());
      expect(free).toBeLessThan(STATEMENT.embedded / 3);
    }
  });
});

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

function shown(times: Readonly<Record<string, readonly number[]>>): string {
  return Object.entries(times)
    .map(([what, list]) => `${what} ${median(list).toFixed(0)} ms (at worst ${Math.max(...list).toFixed(0)})`)
    .join(', ');
}
