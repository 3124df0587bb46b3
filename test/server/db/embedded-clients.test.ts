// Clients of the embedded store that leave, wait, are too many, or do not speak the protocol.
import { describe, expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { sql } from '../../../server/db/sql.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { newDataDir } from '../../support/stores.js';
import { eventually, failure, useEmbeddedStore } from '../../support/embedded-clients.js';

const store = useEmbeddedStore();

describe('a transaction that its client leaves', () => {
  it('open by disconnecting is rolled back', async () => {
    const leaver = await store.client();
    await leaver.query('begin');
    await leaver.query('insert into rows (id) values (200)');
    (leaver as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream.destroy();
    expect(await store.database.knex('rows').where({ id: 200 })).toEqual([]);
  });

  it('idle for too long is rolled back, and the client is told', async () => {
    const idler = await store.client();
    const told = once(idler, 'error');
    await idler.query('begin');
    await idler.query('insert into rows (id) values (201)');
    const begun = performance.now();
    expect(await store.database.knex('rows').where({ id: 201 })).toEqual([]); // waits for the idler
    expect(performance.now() - begun).toBeGreaterThan(1_000);
    expect((await told)[0]).toMatchObject({ code: '25P03' });
    expect(toStoreProblem(await failure(idler.query('insert into rows (id) values (202)')))).toMatchObject({
      code: 'db.unavailable',
    });
    expect(await store.database.knex('rows').where({ id: 202 })).toEqual([]);
  });

  it('failed stays failed until it is rolled back', async () => {
    const one = await store.client();
    await one.query('begin');
    expect(await failure(one.query('select 1/0'))).toMatchObject({ code: '22012' });
    expect(await failure(one.query('select 1'))).toMatchObject({ code: '25P02' });
    expect((await one.query('commit')).command).toBe('ROLLBACK');
    await one.end();
  });
});

describe('an asker', () => {
  it('has one place in the line, through however many processes it asks', async () => {
    const open = (): Promise<Database> => openDatabase({ kind: 'embedded', dataDir: store.dataDir });
    const workers = await Promise.all([open(), open(), open()] as const);
    const answered: string[] = [];
    const ask = async (asker: string, worker: Database): Promise<void> => {
      await worker.read(sql`SELECT ${asker}::text`, { asker });
      answered.push(asker);
    };
    const write = async (asker: string, worker: Database): Promise<void> => {
      await worker.write(async ({ rows }) => [await rows(sql`SELECT ${1}::int`), await rows(sql`SELECT ${2}::int`)], {
        asker,
      });
      answered.push(asker);
    };
    const holder = await store.client();
    await holder.query('begin');
    const asked = workers.flatMap((worker) => [ask('greedy', worker), write('greedy', worker)]);
    await sleep(200);
    asked.push(ask('modest', workers[0]));
    await sleep(200);
    asked.push(ask('late', workers[1]));
    await sleep(200);
    await holder.query('commit');
    await Promise.all(asked);
    expect(answered.slice(0, 3)).toEqual(['greedy', 'modest', 'late']);
    expect(answered.length).toBe(8);
    // One that leaves its place leaves it to the next of its asker.
    await holder.query('begin');
    const leaving = new AbortController();
    const left = workers[0].read(sql`SELECT ${1}::int`, { asker: 'greedy', signal: leaving.signal });
    await sleep(200);
    const next = ask('greedy', workers[1]);
    await sleep(200);
    leaving.abort(new Error('left'));
    expect(await failure(left)).toMatchObject({ message: 'left' });
    await holder.query('commit');
    await next;
    await Promise.all([holder.end(), ...workers.map((worker) => worker.close())]);
  });
});

describe('what one session cannot give many clients', () => {
  test.each(["set timezone = 'Asia/Tokyo'", 'reset all', 'discard all', 'deallocate all'])(
    '"%s" is refused',
    async (sql) => {
      const one = await store.client();
      expect(await failure(one.query(sql))).toMatchObject({ code: '0A000' });
      expect((await one.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
      await one.end();
    },
  );

  it("SET LOCAL is a transaction's own", async () => {
    const one = await store.client();
    await one.query('begin');
    await one.query("set local timezone = 'Asia/Tokyo'");
    await one.query('commit');
    expect((await one.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
    await one.end();
  });
});

describe('a slow statement', () => {
  it('is answered with a timeout on time while it finishes, and the store goes on', async () => {
    const hasty = await openDatabase({ kind: 'embedded', dataDir: store.dataDir, statementTimeout: 200 });
    const begun = performance.now();
    const error = await failure(hasty.knex.raw('select count(*) from generate_series(1, 5000000)'));
    const answered = performance.now() - begun;
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.timeout', status: 504 });
    // Others are told that the store is busy until the statement has run to its end.
    while ((await failure(store.database.ping())) !== 'no failure') await sleep(10);
    expect(answered).toBeLessThan(performance.now() - begun);
    await hasty.close();
  });

  it('that runs on long after it was given up ends the engine, which starts again', async () => {
    const folder = await newDataDir();
    const hasty = await openDatabase({ kind: 'embedded', dataDir: folder, statementTimeout: 50 });
    const error = await failure(hasty.knex.raw('select count(*) from generate_series(1, 1000000000000)'));
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.timeout' });
    const patient = await openDatabase({ kind: 'embedded', dataDir: folder, statementTimeout: 0 });
    await patient.ping();
    await Promise.all([hasty.close(), patient.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('in a transaction takes the transaction with it', async () => {
    const hasty = await openDatabase({ kind: 'embedded', dataDir: store.dataDir, statementTimeout: 150 });
    const attempt = inTransaction(hasty.knex, async (trx) => {
      await trx('rows').insert({ id: 300 });
      await trx.raw('select count(*) from generate_series(1, 2000000)').catch(() => undefined);
      await trx('rows').insert({ id: 301 });
    });
    expect(toStoreProblem(await failure(attempt))).not.toBeNull();
    expect(await store.database.knex('rows').whereIn('id', [300, 301])).toEqual([]);
    await hasty.close();
  });
});

describe('more clients than can be served', () => {
  it('are refused at once, the 65th that waits, and the others served', async () => {
    const holder = await store.client();
    const clients = await Promise.all(Array.from({ length: 66 }, store.client));
    await holder.query('begin');
    const attempts = clients.map((each) => failure(each.query('select 1')));
    const settled = await Promise.race([Promise.all(attempts), sleep(60)]);
    expect(settled).toBeUndefined();
    await holder.query('commit');
    const answers = await Promise.all(attempts);
    const refused = answers.filter((answer) => answer !== 'no failure');
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ code: '53300' });
    expect(toStoreProblem(refused[0])).toMatchObject({ code: 'db.unavailable' });
    await Promise.all([...clients, holder].map((each) => each.end()));
  });
});

describe('a statement that its client closes', () => {
  const isThere = async (name: string): Promise<boolean> => {
    const { rows } = await store.database.knex.raw<{ rows: unknown[] }>(
      'select 1 from pg_prepared_statements where name like ?',
      [`%\\_${name}`],
    );
    return rows.length > 0;
  };
  /** The driver's own connection, which closes without a query around it. */
  const close = (who: pg.Client, name: string): void => {
    const { connection } = who as unknown as { connection: { close: (what: { type: 'S'; name: string }) => void } };
    connection.close({ type: 'S', name });
  };

  it('is closed also if the query that follows is refused for want of room', async () => {
    const [who, holder] = [await store.client(), await store.client()];
    await who.query({ name: 'kept', text: 'select 1' });
    expect(await isThere('kept')).toBe(true);
    const others = await Promise.all(Array.from({ length: 64 }, store.client));
    await holder.query('begin');
    const waiting = others.map((each) => each.query('select 1'));
    await sleep(60);
    close(who, 'kept');
    expect(await failure(who.query('select 2'))).toMatchObject({ code: '53300' });
    await holder.query('commit');
    await Promise.all(waiting);
    await eventually(async () => {
      expect(await isThere('kept')).toBe(false);
    });
    await Promise.all([...others, holder, who].map((each) => each.end()));
  });

  it('is closed also if what follows is nothing that the store does', async () => {
    const who = await store.client();
    await who.query({ name: 'other', text: 'select 1' });
    close(who, 'other');
    expect(await failure(who.query({ text: 'copy rows from stdin', values: [], name: 'copying' }))).toMatchObject({
      code: '0A000',
    });
    expect(await isThere('other')).toBe(false);
    await who.end();
  });
});

describe('bytes that break the protocol', () => {
  test.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['an unknown version', '\0\0\0\x08\0\x09\0\0'],
    ['a length below zero', '\xff\xff\xff\xff'],
  ])('%s is answered with an error and the end', async (_, text) => {
    const socket = connect(join(store.socketDir(), '.s.PGSQL.5432'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(Buffer.from(text, 'latin1'));
    await once(socket, 'close');
    expect(Buffer.concat(chunks).toString()).toContain('08P01');
    await store.database.ping();
  });

  /** What a client of its own hears after it has sent a greeting and all of this. */
  async function hears(parts: Iterable<Buffer>): Promise<string> {
    const socket = connect(join(store.socketDir(), '.s.PGSQL.5432'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    const name = Buffer.from('user\0anyone\0\0');
    const head = Buffer.alloc(8);
    head.writeInt32BE(8 + name.length);
    head.writeInt32BE(0x30000, 4);
    socket.write(Buffer.concat([head, name]));
    for (const part of parts) {
      if (socket.destroyed) break;
      if (!socket.write(part)) await Promise.race([once(socket, 'drain'), closed]);
    }
    await closed;
    return Buffer.concat(chunks).toString();
  }

  const EXECUTE = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
  const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);

  it('a client that never asks for an answer is ended before it fills the memory', async () => {
    const many = Buffer.concat(Array<Buffer>(5_000).fill(EXECUTE));
    const before = process.memoryUsage().rss;
    expect(await hears(Array<Buffer>(2_000).fill(many))).toContain('too much before a Sync');
    expect(process.memoryUsage().rss - before).toBeLessThan(1024 * 1024 * 1024);
    await store.database.ping();
  });

  it('a client that asks and asks while another has the store is ended', async () => {
    const holder = await store.client();
    await holder.query('begin');
    expect(await hears(Array<Buffer>(100).fill(SYNC))).toContain('too many requests at once');
    await holder.query('commit');
    await holder.end();
  });

  it('a request for TLS is declined, and the client may go on without', async () => {
    const socket = connect(join(store.socketDir(), '.s.PGSQL.5432'));
    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toBe('N');
    socket.destroy();
  });
});
