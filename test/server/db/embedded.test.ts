// The embedded store seen by clients of any kind: one engine that has to look like a server of its own to each of them.
import { describe, expect, it, test } from '@jest/globals';
import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openDatabase } from '../../../server/db/database.js';
import { migrate } from '../../../server/db/migrate.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { EMBEDDED_LIMITS } from '../../../server/limits/store.js';
import { sql } from '../../../server/db/sql.js';
import { copyIn } from '../../support/copy-in.js';
import { eventually, failure, useEmbeddedStore } from '../../support/embedded-clients.js';

const store = useEmbeddedStore();

describe('the files of an embedded store', () => {
  it('are open to their owner alone, and the socket has a short name', () => {
    const mode = (path: string): number => statSync(path).mode & 0o777;
    expect(mode(join(store.dataDir, 'store.lock'))).toBe(0o700);
    expect(mode(store.socketDir())).toBe(0o700);
    expect(mode(join(store.socketDir(), '.s.PGSQL.5432'))).toBe(0o600);
    expect(Buffer.byteLength(join(store.socketDir(), '.s.PGSQL.5432'))).toBeLessThan(107);
  });
});

describe('clients side by side', () => {
  it('each get their own answers', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, store.client));
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
    const [one, two] = await Promise.all([store.client(), store.client()]);
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
    const [one, two] = await Promise.all([store.client(), store.client()]);
    await one.query('begin');
    await one.query('insert into rows (id) values (100)');
    const other = two.query('select count(*)::int as n from rows where id = 100');
    await sleep(30);
    await one.query('rollback');
    expect((await other).rows).toEqual([{ n: 0 }]);
    await Promise.all([one.end(), two.end()]);
  });

  it('many knex clients write at once and lose nothing', async () => {
    const databases = await Promise.all(
      Array.from({ length: 4 }, () => openDatabase({ kind: 'embedded', dataDir: store.dataDir })),
    );
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
    expect(await store.database.knex('rows').whereBetween('id', [1_000, 1_999])).toHaveLength(80);
    await Promise.all(databases.map((each) => each.close()));
  });

  it("get errors of their own, which end nobody's session", async () => {
    const [one, two] = await Promise.all([store.client(), store.client()]);
    const [wrong, right] = await Promise.all([failure(one.query('select 1/0')), two.query('select 2 as n')]);
    expect(wrong).toMatchObject({ code: '22012' });
    expect(right.rows).toEqual([{ n: 2 }]);
    expect((await one.query('select 3 as n')).rows).toEqual([{ n: 3 }]);
    await Promise.all([one.end(), two.end()]);
  });
});

describe('COPY FROM STDIN', () => {
  it('takes rows in many pieces while others work', async () => {
    const copier = await store.client();
    const others = Array.from({ length: 10 }, () => store.database.ping());
    const lines = Array.from({ length: 20_000 }, (_, index) => `${String(index + 10_000)}\n`);
    await copyIn(copier, 'copy rows (id) from stdin', lines);
    await Promise.all(others);
    expect((await copier.query('select count(*)::int as n from rows where id >= 10000')).rows).toEqual([{ n: 20_000 }]);
    await copier.end();
  });

  it('tells what is wrong with them, and the session goes on', async () => {
    const copier = await store.client();
    expect(await failure(copyIn(copier, 'copy rows (id) from stdin', ['7000\n', 'seven\n']))).toMatchObject({
      code: '22P02',
    });
    expect(await failure(copyIn(copier, 'copy nowhere from stdin', ['1\n']))).toMatchObject({ code: '42P01' });
    expect((await copier.query('select count(*)::int as n from rows where id = 7000')).rows).toEqual([{ n: 0 }]);
    await copier.end();
  });

  it('is part of the transaction it is in', async () => {
    const copier = await store.client();
    await copier.query('begin');
    await copyIn(copier, 'copy rows (id) from stdin', ['7001\n']);
    await copier.query('rollback');
    expect((await copier.query('select count(*)::int as n from rows where id = 7001')).rows).toEqual([{ n: 0 }]);
    await copier.end();
  });

  test.each(['select 1; copy rows (id) from stdin', 'do $$ begin null; end $$; copy rows (id) from stdin'])(
    'hidden in "%s" is refused and harms nobody',
    async (sql) => {
      const copier = await store.client();
      expect(await failure(copier.query(sql))).toBeInstanceOf(pg.DatabaseError);
      expect((await copier.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
      await copier.end();
    },
  );

  it('cannot be prepared', async () => {
    const copier = await store.client();
    expect(await failure(copier.query({ name: 'copier', text: 'copy rows (id) from stdin' }))).toMatchObject({
      code: '0A000',
    });
    await copier.query('select 1');
    await copier.end();
  });

  it('that is broken off in the middle leaves nothing', async () => {
    const socket = connect(join(store.socketDir(), '.s.PGSQL.5432'));
    const startup = Buffer.from('\0\0\0\x15\0\x03\0\0user\0somebody\0\0', 'latin1');
    startup.writeInt32BE(startup.length, 0);
    const query = Buffer.from('Q\0\0\0\0copy rows (id) from stdin\0', 'latin1');
    query.writeInt32BE(query.length - 1, 1);
    const data = Buffer.from('d\0\0\0\x097002\n', 'latin1');
    socket.write(Buffer.concat([startup, query, data]));
    await sleep(50);
    socket.destroy();
    await store.database.ping();
    expect(await store.database.knex('rows').where({ id: 7002 })).toEqual([]);
  });
});

describe('LISTEN and NOTIFY', () => {
  it('reach every client that listens, and no other', async () => {
    const [one, two, three] = await Promise.all([store.client(), store.client(), store.client()]);
    const heard: string[] = [];
    one.on('notification', ({ channel, payload }) => heard.push(`one ${channel} ${payload ?? ''}`));
    two.on('notification', ({ channel, payload }) => heard.push(`two ${channel} ${payload ?? ''}`));
    three.on('notification', ({ channel, payload }) => heard.push(`three ${channel} ${payload ?? ''}`));
    await one.query('listen swaps');
    await two.query('LISTEN "swaps"');
    await three.query('listen other');
    await inTransaction(store.database.knex, async (trx) => {
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

describe('a store that grows', () => {
  it('is not read for ever as it was planned while it was empty', async () => {
    const { database } = store;
    await migrate(database);
    const id = '00000000-0000-4000-8000-000000000000';
    const one = await store.client();
    const index = async (): Promise<string | undefined> => {
      // Ours are planned well from the start (young-plans.test.ts); this one is not.
      const statement = sql`SELECT r.path FROM records AS r WHERE r.id = ${id}::uuid`;
      for (let times = 0; times < 3; times += 1) await database.read(statement);
      const { rows: prepared } = await one.query<{ name: string }>(
        `SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT r.path FROM records%'`,
      );
      const { rows } = await one.query(`EXPLAIN EXECUTE "${prepared[0]?.name ?? ''}" ('${id}')`);
      return /using (\w+) on records/.exec(JSON.stringify(rows))?.[1];
    };
    expect(await index()).toBe('records_path_name');
    await database.knex.raw(
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
        SELECT gen_random_uuid(), 2, '/a/', 'n' || i, '{}', 1, now(), now(), 'test' FROM generate_series(1, 1000) AS i`,
    );
    for (let units = 0; units < EMBEDDED_LIMITS.unitsPerPlan; units += 1) await one.query('SELECT 1');
    expect(await index()).toBe('records_pkey');
    await one.end();
  });
});
