// Reads from a streaming replica: while it is fresh enough, and never otherwise.
import { beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, openDatabase } from '../../../server/db/database.js';
import type { ReplicaState } from '../../../server/db/replica.js';
import { sql } from '../../../server/db/sql.js';
import { takeDatabase } from '../../support/one-postgres.js';
import { findPostgres, runSql, type TestPostgres } from '../../support/postgres.js';
import { useReplicated } from '../../support/replicated.js';
import { until } from '../../support/until.js';

const LAG = 1_000;

const withPostgres = findPostgres() === null ? describe.skip : describe;

withPostgres('reads from a replica', () => {
  const replicated = useReplicated(LAG, 'CREATE TABLE ticks (at double precision)', 'INSERT INTO ticks VALUES (0)');
  let primary: TestPostgres;
  let replica: TestPostgres;
  let db: Database;
  beforeAll(() => {
    ({ primary, replica, db } = replicated());
  });

  const isReplica = async (from = db): Promise<boolean> => {
    const [row] = await from.readReplica<{ readonly is: boolean }>(
      sql`SELECT pg_is_in_recovery() AS is WHERE ${true}::boolean`,
    );
    return row?.is === true;
  };
  const untilRead = (where: 'primary' | 'replica'): Promise<void> =>
    until(async () => (await isReplica()) === (where === 'replica'), statesOf(db, where));

  it('begins with the primary, goes on with the replica, and stays there while the primary has nothing to write', async () => {
    await untilRead('replica');
    const from = performance.now();
    while (performance.now() - from < 3 * LAG) {
      expect(await isReplica()).toBe(true);
      await sleep(100);
    }
    expect(db.replicas()[0]).toMatchObject({ isUsed: true, fault: null });
    // Everything else is the primary's.
    const [row] = await db.read<{ readonly is: boolean }>(sql`SELECT pg_is_in_recovery() AS is WHERE ${true}::boolean`);
    expect(row?.is).toBe(false);
  });

  it('stays with the replica while a transaction of the primary has written and goes on', async () => {
    const writer = await openDatabase({ kind: 'external', url: primary.url, maxWriters: 1 });
    await untilRead('replica');
    let answered = 0;
    await writer.transaction(async (trx) => {
      await trx.raw('UPDATE public.ticks SET at = at');
      const from = performance.now();
      while (performance.now() - from < 5 * LAG) {
        if (await isReplica()) answered += 1;
        await trx.raw('UPDATE public.ticks SET at = at');
        await sleep(100);
      }
    });
    await writer.close();
    // A busy machine may let one look be late. Otherwise the primary would answer nearly all.
    expect(answered).toBeGreaterThan(35);
  });

  it('knows its state though nobody reads from it here, as in a process whose workers do', async () => {
    const idle = await openDatabase({ kind: 'external', url: primary.url, readUrls: [replica.url], replicaLag: LAG });
    await until(() => idle.replicas()[0]?.isUsed === true, statesOf(idle, 'used'));
    expect(idle.replicas()[0]?.age).toBeLessThanOrEqual(LAG);
    await idle.close();
  });

  it('never answers what is older than the lag, whether the replica keeps up or not', async () => {
    const writer = await openDatabase({ kind: 'external', url: primary.url });
    let isOver = false;
    let replicated = 0;
    const tooOld: number[] = [];
    /** What was stored, by when its storing was over. */
    const stored: { readonly at: number; readonly by: number }[] = [];
    const write = async (): Promise<void> => {
      while (!isOver) {
        const at = performance.now();
        await writer.knex.raw('UPDATE public.ticks SET at = ?', [at]);
        stored.push({ at, by: performance.now() });
        await sleep(20);
      }
    };
    const read = async (): Promise<void> => {
      while (!isOver) {
        const asked = performance.now();
        const [row] = await db.readReplica<{ readonly at: number; readonly is: boolean }>(
          sql`SELECT at, pg_is_in_recovery() AS is FROM public.ticks WHERE ${true}::boolean`,
        );
        if (row?.is === true) replicated += 1;
        const least = stored.findLast(({ by }) => by <= asked - LAG);
        if (least !== undefined && (row?.at ?? 0) < least.at) tooOld.push(least.at - (row?.at ?? 0));
        await sleep(10);
      }
    };
    await runSql(primary.url, `UPDATE ticks SET at = ${String(performance.now())}`);
    await untilRead('replica');
    const working = Promise.all([write(), read()]);
    for (let round = 0; round < 2; round += 1) {
      await sleep(500);
      await runSql(replica.url, 'SELECT pg_wal_replay_pause()');
      await untilRead('primary');
      await runSql(replica.url, 'SELECT pg_wal_replay_resume()');
      await untilRead('replica');
    }
    isOver = true;
    await working;
    await writer.close();
    expect(replicated).toBeGreaterThan(50);
    expect(tooOld).toEqual([]);
  });

  it('never lacks what a commit has answered that nobody waited to be written', async () => {
    const writer = await openDatabase({ kind: 'external', url: primary.url, maxWriters: 1 });
    const commit = async (at: number): Promise<void> => {
      await writer.knex.raw('SET synchronous_commit = off');
      await writer.knex.raw('UPDATE public.ticks SET at = ?', [at]);
    };
    await runSql(primary.url, "ALTER SYSTEM SET wal_writer_delay = '10s'", 'SELECT pg_reload_conf()');
    await untilRead('replica');
    // The first one wakes the process that writes the log, which then sleeps again.
    await commit(1);
    await sleep(500);
    await commit(2);
    await sleep(1.5 * LAG);
    const [row] = await db.readReplica<{ readonly at: number }>(
      sql`SELECT at FROM public.ticks WHERE ${true}::boolean`,
    );
    expect(row?.at).toBe(2);
    await writer.close();
    await runSql(primary.url, 'ALTER SYSTEM RESET wal_writer_delay', 'SELECT pg_reload_conf()');
  });

  it('goes on with the replica where the log of the primary ends with a page', async () => {
    await runSql(primary.url, 'UPDATE ticks SET at = 3', 'SELECT pg_switch_wal()');
    await untilRead('replica');
    // A busy machine may let one look be late, but not each of them.
    const from = performance.now();
    let answered = 0;
    while (performance.now() - from < 2 * LAG) {
      if (await isReplica()) answered += 1;
      await sleep(100);
    }
    expect(answered).toBeGreaterThan(5);
  });

  it('fails nobody while the replica crashes, and returns to it', async () => {
    await untilRead('replica');
    const over = new AbortController();
    const reading = (async (): Promise<void> => {
      while (!over.signal.aborted) await isReplica();
    })();
    await replica.crash();
    await untilRead('primary');
    await replica.start();
    await untilRead('replica');
    over.abort();
    await reading;
  });

  it('shares reads among replicas, and one that hangs or is behind leaves its share to the others', async () => {
    const second = await primary.startReplica();
    const both = await openDatabase({
      ...{ kind: 'external', url: primary.url, readUrls: [replica.url, second.url], replicaLag: LAG },
    });
    const answers = async (): Promise<string> => {
      const [row] = await both.readReplica<{ readonly folder: string }>(
        sql`SELECT current_setting('data_directory') AS folder WHERE ${true}::boolean`,
      );
      return row?.folder ?? '';
    };
    const used = (): readonly boolean[] => both.replicas().map(({ isUsed }) => isUsed);
    const untilUsed = async (...wanted: readonly boolean[]): Promise<void> => {
      await until(
        async () => {
          await answers();
          return used().join() === wanted.join();
        },
        statesOf(both, wanted.join()),
      );
    };
    await untilUsed(true, true);
    const seen = Array.from({ length: 20 }, answers);
    const folders = [...new Set(await Promise.all(seen))];
    expect(folders).toHaveLength(2);
    expect(both.replicas().map(({ address }) => address)).toEqual(
      [replica, second].map(
        ({ url }) => expect.stringContaining(new URL(url).searchParams.get('host') ?? '') as unknown,
      ),
    );

    // While nobody replays there, the other one stays fresh.
    await runSql(second.url, 'SELECT pg_wal_replay_pause()');
    await runSql(primary.url, 'UPDATE ticks SET at = at + 1');
    await untilUsed(true, false);
    expect(new Set(await Promise.all(Array.from({ length: 10 }, answers))).size).toBe(1);
    await runSql(second.url, 'SELECT pg_wal_replay_resume()');
    await untilUsed(true, true);

    await second.crash();
    const from = performance.now();
    while (performance.now() - from < 2 * LAG) {
      await answers();
      expect(used()[0]).toBe(true);
      await sleep(20);
    }
    expect(both.replicas()[1]).toMatchObject({ isUsed: false, fault: 'away' });
    await both.close();
    await second.start();
    await second.stop();
    await expect(
      openDatabase({ kind: 'external', url: primary.url, readUrls: [replica.url, `${replica.url}&sslmode=disable`] }),
    ).rejects.toMatchObject({ code: 'store.url' });
  });

  it('says why a replica is not used: what its server says, or which right is missing', async () => {
    const name = new URL(replica.url).searchParams.get('host') ?? '';
    const faultOf = async (url: string): Promise<ReplicaState | undefined> => {
      const own = await openDatabase({ kind: 'external', url: primary.url, readUrls: [url], replicaLag: LAG });
      await until(() => own.replicas()[0]?.fault !== null, statesOf(own, 'a fault'));
      const [state] = own.replicas();
      await own.close();
      return state;
    };
    const database = await faultOf(replica.url.replace('/postgres?', '/nosuch?'));
    expect(database).toMatchObject({ isUsed: false, fault: 'away', age: null });
    expect(database?.reason).toBe(
      `the PostgreSQL at ${name}:5432, database nosuch refuses the connection: database "nosuch" does not exist`,
    );
    const refused = await faultOf(replica.url.replace('postgres@', 'nobody:a-secret@'));
    expect(refused).toMatchObject({ fault: 'away', reason: expect.stringContaining('role "nobody" does not exist') });
    expect(refused?.reason).not.toContain('a-secret');

    const [weak, control] = ['weak', 'FUNCTION pg_control_system()'];
    await runSql(primary.url, `CREATE ROLE ${weak} LOGIN`, `GRANT USAGE ON SCHEMA bailiwick TO ${weak}`);
    await runSql(primary.url, `REVOKE EXECUTE ON ${control} FROM PUBLIC`);
    const reason = 'permission denied for function pg_control_system';
    const asWeak = (url: string): string => url.replace('postgres@', `${weak}@`);
    await until(
      async () => (await faultOf(asWeak(replica.url)))?.reason === reason,
      'the right to be missing on the replica',
    );
    expect(await faultOf(asWeak(replica.url))).toMatchObject({ fault: 'rights', reason });
    const poor = await openDatabase({
      ...{ kind: 'external', url: asWeak(primary.url), readUrls: [replica.url], replicaLag: LAG },
    });
    await until(() => poor.replicas()[0]?.fault !== null, statesOf(poor, 'a fault'));
    expect(poor.replicas()[0]).toMatchObject({ isUsed: false, fault: 'rights', reason });
    await poor.close();
    await runSql(primary.url, `GRANT EXECUTE ON ${control} TO PUBLIC`);
  });

  it('leaves a replica of another server alone, and one that is one no longer', async () => {
    const other = await takeDatabase('migrated');
    const strange = await openDatabase({ kind: 'external', url: other.url, readUrls: [replica.url], replicaLag: LAG });
    await until(
      async () => {
        expect(await isReplica(strange)).toBe(false);
        return strange.replicas()[0]?.fault !== null;
      },
      statesOf(strange, 'a fault'),
    );
    expect(strange.replicas()[0]).toMatchObject({ isUsed: false, fault: 'other_cluster' });
    await strange.close();
    await other.drop();

    await untilRead('replica');
    await runSql(replica.url, 'SELECT pg_promote()');
    await until(
      async () => {
        await isReplica();
        return db.replicas()[0]?.fault === 'not_a_replica';
      },
      statesOf(db, 'not_a_replica'),
    );
    // It has what the primary had; what is written there from now on is another history.
    await runSql(replica.url, 'UPDATE ticks SET at = -1');
    const [row] = await db.readReplica<{ readonly at: number }>(
      sql`SELECT at FROM public.ticks WHERE ${true}::boolean`,
    );
    expect(row?.at).toBeGreaterThan(0);
  });
});

function statesOf(db: Database, wanted: string): () => string {
  return () => `${wanted}; the replicas are ${JSON.stringify(db.replicas())}`;
}
