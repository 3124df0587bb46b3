// A client that hangs up: while its query runs, the statement ends with it; before that, it holds no turn of its actor. The log says that
// it left.
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openTrail } from '../../../server/audit/trail.js';
import type { Database } from '../../../server/db/database.js';
import { makeIdSource, systemClock } from '../../../server/lib/ports.js';
import { readLines, SILENT } from '../../support/audit-log.js';
import { call, openGateway, openSocket } from '../../support/gateway.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const BODY = '{"family":"resource","namespace":"/"}';

const queryOf = (key: string): string =>
  `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${String(BODY.length)}\r\n\r\n${BODY}`;

const postgres = testStores().find(({ name }) => name === 'postgres');

(postgres === undefined ? it.skip : it)('stops the statement of a client that hangs up, on PostgreSQL', async () => {
  if (postgres === undefined) return;
  const opened = await postgres.open();
  const url = opened.config.kind === 'external' ? opened.config.url : '';
  const watcher = new pg.Client({ connectionString: url });
  await watcher.connect();
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  const open = await openGateway({ db: opened.database });
  try {
    const { text } = await open.key();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE bailiwick.records IN ACCESS EXCLUSIVE MODE');
    const waiting = async (): Promise<number> => {
      const { rows } = await watcher.query<{ n: number }>(
        "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return rows[0]?.n ?? 0;
    };
    const untilWaiting = (count: number): Promise<void> =>
      until(async () => (await waiting()) === count, `${String(count)} that wait`);
    const socket = await openSocket(open.port);
    socket.write(queryOf(text));
    await untilWaiting(1);
    socket.destroy();
    // Well below the 3 seconds after which every statement ends.
    await untilWaiting(0);
    await sleep(50);
    expect(open.lines).toMatchObject([{ level: 'info', message: 'the client went away', actor: 'ada' }]);
  } finally {
    await holder.query('ROLLBACK');
    await holder.end();
    await watcher.end();
    await open.dispose();
    await opened.dispose();
  }
});

it('leaves no turn of its actor taken when it hangs up while its key is looked up', async () => {
  const open = await openGateway({ concurrency: 1 });
  try {
    const { text } = await open.key();
    // The embedded store does one thing at a time, so the look-up waits for this.
    const letGo = holdStore(open.db);
    const socket = await openSocket(open.port);
    socket.write(queryOf(text));
    await sleep(100);
    socket.destroy();
    await sleep(100);
    await letGo();
    expect((await call(open.port, { key: text, body: BODY })).status).toBe(200);
    expect(open.lines).toMatchObject([{ message: 'the client went away', actor: 'ada' }, { message: 'request' }]);
  } finally {
    await open.dispose();
  }
});

it('leaves an event of what was refused, whether or not anybody waits for the answer', async () => {
  const [embedded] = testStores();
  if (embedded === undefined) throw new Error('no store');
  const store = await embedded.open();
  const folder = await makeFolder();
  const ports = { db: store.database, clock: systemClock, nextId: makeIdSource(), log: SILENT };
  const trail = await openTrail({ ...ports, folder, queries: 'all', onFailure: 'refuse', lag: 10_000 });
  const open = await openGateway({ db: store.database, audit: trail });
  try {
    const { text } = await open.key({ actor: 'eve', identities: [{ provider: 'orcid', subject: 'eve' }] });
    // The embedded store does one thing at a time, so the look-up of the key waits for this.
    const letGo = holdStore(open.db);
    const socket = await openSocket(open.port);
    socket.write(`GET /api/v1/namespaces/labs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${text}\r\n\r\n`);
    await sleep(200);
    socket.destroy();
    await sleep(100);
    await letGo();
    await until(() => open.lines.some(({ message }) => message === 'the client went away'), 'the end of the request');
    const refusals = (): readonly string[] => readLines(folder).filter((line) => line.includes('"kind":"refusal"'));
    await until(() => refusals().length > 0, 'an event');
    expect(refusals().map((line): unknown => JSON.parse(line))).toMatchObject([
      { kind: 'refusal', operation: 'namespace.read', status: 403, step: 'no_matching_grant', actor: { id: 'eve' } },
    ]);
  } finally {
    await open.dispose();
    await trail.close();
    await store.dispose();
  }
});

/** The embedded store does one thing at a time: until it is let go, everything else waits. */
function holdStore(db: Database): () => Promise<void> {
  let release = (): void => undefined;
  const held = db.transaction(
    () =>
      new Promise<void>((resolve) => {
        release = resolve;
      }),
  );
  return () => {
    release();
    return held;
  };
}
