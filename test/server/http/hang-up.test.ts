// A client that hangs up while its query runs: the statement ends with it, and the log says that it left.
import { expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openGateway, openSocket } from '../../support/gateway.js';
import { testStores } from '../../support/stores.js';

const BODY = '{"family":"resource","namespace":"/"}';

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
    const until = async (count: number): Promise<void> => {
      for (let i = 0; i < 100 && (await waiting()) !== count; i += 1) await sleep(10);
      expect(await waiting()).toBe(count);
    };
    const socket = await openSocket(open.port);
    socket.write(
      `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${text}\r\nContent-Type: application/json\r\nContent-Length: ${String(BODY.length)}\r\n\r\n${BODY}`,
    );
    await until(1);
    socket.destroy();
    // Well below the 3 seconds after which every statement ends.
    await until(0);
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
