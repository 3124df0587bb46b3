// The embedded store seen by clients of any kind: one engine that has to look like a server of its own to each of them.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { realpathSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../../../server/db/database.js';
import type { Database } from '../../../server/db/database.js';
import { readLock } from '../../../server/db/embedded/owner-lock.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { copyIn } from '../../support/copy-in.js';
import { newDataDir } from '../../support/stores.js';

let dataDir: string;
let database: Database;

beforeAll(async () => {
  dataDir = await newDataDir();
  database = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 0, idleInTransaction: 1_500 });
  await database.knex.raw('create table rows (id int primary key, owner text not null default current_user)');
});
afterAll(async () => {
  await database.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function socketDir(): string {
  const state = readLock(join(realpathSync(dataDir), 'store.lock'));
  if (state.kind !== 'held') throw new Error('nobody owns the store');
  return state.record.socketDir;
}

/** Until it holds, for what happens on other sockets. */
async function eventually(check: () => void | Promise<void>): Promise<void> {
  const end = Date.now() + 5_000;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(10);
    }
  }
}

/** An ordinary client of the driver, past knex and its pool. */
async function client(): Promise<pg.Client> {
  const connection = new pg.Client({ host: socketDir(), port: 5432, user: 'anyone', database: 'postgres' });
  connection.on('error', () => undefined);
  await connection.connect();
  return connection;
}

const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('the files of an embedded store', () => {
  it('are open to their owner alone, and the socket has a short name', () => {
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect(mode(join(dataDir, 'store.lock'))).toBe(0o700);
    expect(mode(socketDir())).toBe(0o700);
    expect(mode(join(socketDir(), '.s.PGSQL.5432'))).toBe(0o600);
    expect(Buffer.byteLength(join(socketDir(), '.s.PGSQL.5432'))).toBeLessThan(107);
  });
});

describe('clients side by side', () => {
  it('each get their own answers', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, client));
    await Promise.all(
      clients.map(async (each, index) => {
        for (let turn = 0; turn < 25; turn += 1) {
          const { rows } = await each.query<{ me: number; turn: number }>('select $1::int as me, $2::int as turn', [
            index,
            turn,
          ]);
          expect(rows).toEqual([{ me: index, turn }]);
        }
      }),
    );
    await Promise.all(clients.map((each) => each.end()));
  });

  it("keep their prepared statements apart, and may use each other's names", async () => {
    const [one, two] = await Promise.all([client(), client()]);
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await one.query({ name: 'mine', text: 'select 1 as n' })).rows).toEqual([{ n: 1 }]);
      expect((await two.query({ name: 'mine', text: 'select $1::text as t', values: ['two'] })).rows).toEqual([
        { t: 'two' },
      ]);
    }
    const named = async (): Promise<number> =>
      (await two.query('select name from pg_prepared_statements')).rowCount ?? 0;
    expect(await named()).toBe(2);
    await one.end();
    await eventually(async () => {
      expect(await named()).toBe(1); // those of a client that has gone are gone
    });
    await two.end();
  });

  it('see no statement of another inside their transaction', async () => {
    const [one, two] = await Promise.all([client(), client()]);
    await one.query('begin');
    await one.query('insert into rows (id) values (100)');
    const other = two.query('select count(*)::int as n from rows where id = 100');
    await sleep(30);
    await one.query('rollback');
    expect((await other).rows).toEqual([{ n: 0 }]);
    await Promise.all([one.end(), two.end()]);
  });

  it('many knex clients write at once and lose nothing', async () => {
    const databases = await Promise.all(Array.from({ length: 4 }, () => openDatabase({ kind: 'embedded', dataDir })));
    await Promise.all(
      databases.flatMap(({ knex }, index) =>
        Array.from({ length: 20 }, async (_, turn) => {
          const id = 1_000 + index * 100 + turn;
          await inTransaction(knex, async (trx) => {
            await trx('rows').insert({ id });
            expect(await trx('rows').where({ id })).toHaveLength(1);
          });
        }),
      ),
    );
    expect(await database.knex('rows').whereBetween('id', [1_000, 1_999])).toHaveLength(80);
    await Promise.all(databases.map((each) => each.close()));
  });

  it("get errors of their own, which end nobody's session", async () => {
    const [one, two] = await Promise.all([client(), client()]);
    const [wrong, right] = await Promise.all([failure(one.query('select 1/0')), two.query('select 2 as n')]);
    expect(wrong).toMatchObject({ code: '22012' });
    expect(right.rows).toEqual([{ n: 2 }]);
    expect((await one.query('select 3 as n')).rows).toEqual([{ n: 3 }]);
    await Promise.all([one.end(), two.end()]);
  });
});

describe('COPY FROM STDIN', () => {
  it('takes rows in many pieces while others work', async () => {
    const copier = await client();
    const others = Array.from({ length: 10 }, () => database.ping());
    const lines = Array.from({ length: 20_000 }, (_, index) => `${String(index + 10_000)}\n`);
    await copyIn(copier, 'copy rows (id) from stdin', lines);
    await Promise.all(others);
    expect((await copier.query('select count(*)::int as n from rows where id >= 10000')).rows).toEqual([{ n: 20_000 }]);
    await copier.end();
  });

  it('tells what is wrong with them, and the session goes on', async () => {
    const copier = await client();
    expect(await failure(copyIn(copier, 'copy rows (id) from stdin', ['7000\n', 'seven\n']))).toMatchObject({
      code: '22P02',
    });
    expect(await failure(copyIn(copier, 'copy nowhere from stdin', ['1\n']))).toMatchObject({ code: '42P01' });
    expect((await copier.query('select count(*)::int as n from rows where id = 7000')).rows).toEqual([{ n: 0 }]);
    await copier.end();
  });

  it('is part of the transaction it is in', async () => {
    const copier = await client();
    await copier.query('begin');
    await copyIn(copier, 'copy rows (id) from stdin', ['7001\n']);
    await copier.query('rollback');
    expect((await copier.query('select count(*)::int as n from rows where id = 7001')).rows).toEqual([{ n: 0 }]);
    await copier.end();
  });

  test.each(['select 1; copy rows (id) from stdin', 'do $$ begin null; end $$; copy rows (id) from stdin'])(
    'hidden in "%s" is refused and harms nobody',
    async (sql) => {
      const copier = await client();
      expect(await failure(copier.query(sql))).toBeInstanceOf(pg.DatabaseError);
      expect((await copier.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
      await copier.end();
    },
  );

  it('cannot be prepared', async () => {
    const copier = await client();
    expect(await failure(copier.query({ name: 'copier', text: 'copy rows (id) from stdin' }))).toMatchObject({
      code: '0A000',
    });
    await copier.query('select 1');
    await copier.end();
  });

  it('that is broken off in the middle leaves nothing', async () => {
    const socket = connect(join(socketDir(), '.s.PGSQL.5432'));
    const startup = Buffer.from('\0\0\0\x15\0\x03\0\0user\0somebody\0\0', 'latin1');
    startup.writeInt32BE(startup.length, 0);
    const query = Buffer.from('Q\0\0\0\0copy rows (id) from stdin\0', 'latin1');
    query.writeInt32BE(query.length - 1, 1);
    const data = Buffer.from('d\0\0\0\x097002\n', 'latin1');
    socket.write(Buffer.concat([startup, query, data]));
    await sleep(50);
    socket.destroy();
    await database.ping();
    expect(await database.knex('rows').where({ id: 7002 })).toEqual([]);
  });
});

describe('LISTEN and NOTIFY', () => {
  it('reach every client that listens, and no other', async () => {
    const [one, two, three] = await Promise.all([client(), client(), client()]);
    const heard: string[] = [];
    one.on('notification', ({ channel, payload }) => heard.push(`one ${channel} ${payload ?? ''}`));
    two.on('notification', ({ channel, payload }) => heard.push(`two ${channel} ${payload ?? ''}`));
    three.on('notification', ({ channel, payload }) => heard.push(`three ${channel} ${payload ?? ''}`));
    await one.query('listen swaps');
    await two.query('LISTEN "swaps"');
    await three.query('listen other');
    await inTransaction(database.knex, async (trx) => {
      await trx.raw("select pg_notify('swaps', ?)", ['first']);
      await trx.raw('select 1');
      expect(heard).toEqual([]); // not before COMMIT
    });
    await eventually(() => {
      expect(heard.sort()).toEqual(['one swaps first', 'two swaps first']);
    });

    heard.length = 0;
    await one.query('unlisten *');
    await three.query("notify swaps, 'second'");
    await three.query("notify other, 'third'");
    await eventually(() => {
      expect(heard.sort()).toEqual(['three other third', 'two swaps second']);
    });

    heard.length = 0;
    await two.end();
    await three.query("notify swaps, 'fourth'");
    await eventually(async () => {
      const { rows } = await three.query('select pg_listening_channels() as channel');
      expect(rows).toEqual([{ channel: 'other' }]);
    });
    expect(heard).toEqual([]);
    await Promise.all([one.end(), three.end()]);
  });
});

describe('a transaction that its client leaves', () => {
  it('open by disconnecting is rolled back', async () => {
    const leaver = await client();
    await leaver.query('begin');
    await leaver.query('insert into rows (id) values (200)');
    (leaver as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream.destroy();
    expect(await database.knex('rows').where({ id: 200 })).toEqual([]);
  });

  it('idle for too long is rolled back, and the client told', async () => {
    const idler = await client();
    const told = once(idler, 'error');
    await idler.query('begin');
    await idler.query('insert into rows (id) values (201)');
    const begun = performance.now();
    expect(await database.knex('rows').where({ id: 201 })).toEqual([]); // waits for the idler
    expect(performance.now() - begun).toBeGreaterThan(1_000);
    expect((await told)[0]).toMatchObject({ code: '25P03' });
    expect(toStoreProblem(await failure(idler.query('insert into rows (id) values (202)')))).toMatchObject({
      code: 'db.unavailable',
    });
    expect(await database.knex('rows').where({ id: 202 })).toEqual([]);
  });

  it('failed stays failed until it is rolled back', async () => {
    const one = await client();
    await one.query('begin');
    expect(await failure(one.query('select 1/0'))).toMatchObject({ code: '22012' });
    expect(await failure(one.query('select 1'))).toMatchObject({ code: '25P02' });
    expect((await one.query('commit')).command).toBe('ROLLBACK');
    await one.end();
  });
});

describe('what one session cannot give many clients', () => {
  test.each(["set timezone = 'Asia/Tokyo'", 'reset all', 'discard all', 'deallocate all'])(
    '"%s" is refused',
    async (sql) => {
      const one = await client();
      expect(await failure(one.query(sql))).toMatchObject({ code: '0A000' });
      expect((await one.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
      await one.end();
    },
  );

  it("SET LOCAL is a transaction's own", async () => {
    const one = await client();
    await one.query('begin');
    await one.query("set local timezone = 'Asia/Tokyo'");
    await one.query('commit');
    expect((await one.query('show timezone')).rows).toEqual([{ TimeZone: 'UTC' }]);
    await one.end();
  });
});

describe('a slow statement', () => {
  it('is answered with a timeout on time while it finishes, and the store goes on', async () => {
    const hasty = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 200 });
    const begun = performance.now();
    const error = await failure(hasty.knex.raw('select count(*) from generate_series(1, 5000000)'));
    expect(performance.now() - begun).toBeLessThan(1_500);
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.timeout', status: 504 });
    await database.ping();
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
  }, 60_000);

  it('in a transaction takes the transaction with it', async () => {
    const hasty = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 150 });
    const attempt = inTransaction(hasty.knex, async (trx) => {
      await trx('rows').insert({ id: 300 });
      await trx.raw('select count(*) from generate_series(1, 2000000)').catch(() => undefined);
      await trx('rows').insert({ id: 301 });
    });
    expect(toStoreProblem(await failure(attempt))).not.toBeNull();
    expect(await database.knex('rows').whereIn('id', [300, 301])).toEqual([]);
    await hasty.close();
  });
});

describe('more clients than can be served', () => {
  it('are refused at once, the 65th that waits, and the others served', async () => {
    const holder = await client();
    const clients = await Promise.all(Array.from({ length: 66 }, client));
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
    const { rows } = await database.knex.raw<{ rows: unknown[] }>(
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
    const [who, holder] = [await client(), await client()];
    await who.query({ name: 'kept', text: 'select 1' });
    expect(await isThere('kept')).toBe(true);
    const others = await Promise.all(Array.from({ length: 64 }, client));
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
    const who = await client();
    await who.query({ name: 'other', text: 'select 1' });
    close(who, 'other');
    expect(await failure(who.query({ text: 'copy rows from stdin', values: [], name: 'copying' }))).toMatchObject({
      code: '0A000',
    });
    expect(await isThere('other')).toBe(false);
    await who.end();
  });
});

describe('bytes that are no protocol', () => {
  test.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['an unknown version', '\0\0\0\x08\0\x09\0\0'],
    ['a length below zero', '\xff\xff\xff\xff'],
  ])('%s is answered with an error and the end', async (_, text) => {
    const socket = connect(join(socketDir(), '.s.PGSQL.5432'));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(Buffer.from(text, 'latin1'));
    await once(socket, 'close');
    expect(Buffer.concat(chunks).toString()).toContain('08P01');
    await database.ping();
  });

  it('a request for TLS is declined, and the client may go on without', async () => {
    const socket = connect(join(socketDir(), '.s.PGSQL.5432'));
    socket.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toBe('N');
    socket.destroy();
  });
});
