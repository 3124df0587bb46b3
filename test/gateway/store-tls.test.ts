// A PostgreSQL whose certificate nobody trusts any more, as clients and the operator of a running gateway see it: open
// connections still answer, and all else is as while a store is away.
import { afterAll, beforeAll, expect, it, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { sql } from '../../server/db/sql.js';
import { POOL_LIMITS } from '../../server/limits/store.js';
import { call, callAdmin, openGateway, type Reply, type TestGateway } from '../support/gateway.js';
import { findPostgres, runSql } from '../support/postgres.js';
import { startTlsPostgres, type TlsPostgres } from '../support/tls-postgres.js';
import { until } from '../support/until.js';

const QUERY = { family: 'namespace', namespace: '/', reach: 'subtree' };
const LOST = 'the store is lost: requests are refused until it is back';

if (findPostgres() === null) {
  test.skip('a PostgreSQL whose certificate is replaced (none is installed here)', () => undefined);
} else {
  let tls: TlsPostgres;
  let db: Database;
  let served: TestGateway;

  beforeAll(async () => {
    tls = await startTlsPostgres();
    const url = tls.url(`sslmode=verify-full&sslrootcert=${tls.authority.ours}`);
    db = await openDatabase({ kind: 'external', url, statementTimeout: 30_000 });
    await migrate(db);
    served = await openGateway({ db, concurrency: 0, admin: true });
  });
  afterAll(async () => {
    await served.dispose();
    await db.close();
    await tls.stop();
  });

  it('a certificate of another authority is told once, and until it is replaced', async () => {
    const key = (await served.key()).text;
    const adminKey = (await served.key({ identities: [], admin: true })).text;
    const outcome = async (): Promise<string> => {
      const { status, json } = await call(served.port, { key, body: QUERY });
      return status === 200 ? '200' : `${String(status)} ${String(json?.['code'])}`;
    };
    const REFUSED = '503 db.unavailable';
    const ready = (): Promise<Reply> => callAdmin(served.admin?.port ?? 0, { path: '/readyz' });
    const linesOfWatch = (): readonly string[] =>
      served.lines.flatMap(({ message }) => (message.startsWith('the store is ') ? [message] : []));
    expect([await outcome(), (await ready()).status]).toEqual(['200', 200]);

    await tls.present('strange');
    // Until all that are open are taken, and the next request needs another one.
    await until(async () => {
      const free = db.pools().find(({ name }) => name === 'read')?.free ?? 0;
      for (let taken = 0; taken < free; taken += 1)
        void db.read(sql`SELECT pg_sleep(${2}::float8)`).catch(() => undefined);
      const answer = await outcome();
      expect(['200', REFUSED]).toContain(answer);
      return answer === REFUSED;
    });
    await until(() => linesOfWatch().length > 0);
    const reason = `TLS with the PostgreSQL at 127.0.0.1:${String(tls.port)}, database postgres failed: unable to verify the first certificate`;
    expect(served.lines.findLast(({ message }) => message === LOST)).toMatchObject({
      ...{ level: 'error', code: 'store.tls', cause: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', reason },
    });
    await until(async () => (await ready()).status === 503);
    expect((await ready()).json).toMatchObject({ checks: { store: 'failed', policy: 'ok' } });
    const status = await callAdmin(served.admin?.port ?? 0, { key: adminKey });
    expect(status.json?.['store']).toMatchObject({ ok: false, fault: reason });

    // A connection that is open still answers, which does not make the store whole.
    await until(async () => (await outcome()) === '200');
    await sleep(3 * POOL_LIMITS.watchInterval);
    expect([linesOfWatch(), (await ready()).status]).toEqual([[LOST], 503]);

    // Without any, nothing goes on, and the log has no line for each time that something was tried.
    await runSql(
      tls.server.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'bailiwick%'",
    );
    await until(async () => (await outcome()) === REFUSED);
    await sleep(3 * POOL_LIMITS.watchInterval);
    expect(linesOfWatch()).toEqual([LOST]);

    await tls.present('ours');
    await until(async () => (await ready()).status === 200);
    await until(() => linesOfWatch().length > 1);
    expect([await outcome(), linesOfWatch()]).toEqual(['200', [LOST, 'the store is back']]);
    const others = served.lines.filter(({ level, message }) => level === 'error' && message !== LOST);
    expect(others.map(({ message, code }) => [message, code])).toEqual([]);
  });
}
