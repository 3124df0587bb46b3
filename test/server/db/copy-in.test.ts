// COPY on the connection of a transaction: what is sent is what is stored, and each way to fail leaves a usable pool.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { copyIn, type CopyValue } from '../../../server/db/copy-in.js';
import { sql } from '../../../server/db/sql.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { describeOnStores } from '../../support/stores.js';

const TARGET = sql`copied (id, text)`;

describeOnStores('COPY', (store) => {
  const copy = (rows: Iterable<readonly CopyValue[]>): Promise<void> =>
    inTransaction(store.db.knex, (trx) => copyIn(trx, TARGET, rows));
  const count = async (): Promise<unknown> =>
    (await store.db.knex.raw<{ rows: { n: unknown }[] }>('SELECT count(*)::int AS n FROM copied')).rows[0]?.n;

  beforeAll(async () => {
    await store.db.knex.raw('CREATE TABLE copied (id integer PRIMARY KEY, text text)');
  });
  beforeEach(async () => {
    await store.db.knex.raw('DELETE FROM copied');
  });

  it('stores more than any buffer holds, and none at all', async () => {
    const text = 'x'.repeat(1_000);
    await copy(Array.from({ length: 5_000 }, (_, index) => [String(index), index % 2 === 0 ? text : null]));
    expect(await count()).toBe(5_000);
    const { rows } = await store.db.knex.raw<{ rows: unknown[] }>('SELECT text FROM copied WHERE id < 2 ORDER BY id');
    expect(rows).toEqual([{ text }, { text: null }]);
    await copy([]);
    expect(await count()).toBe(5_000);
  });

  it('rejects with the error of the server, stores nothing and goes on', async () => {
    await expect(copy([['1', 'a'], ['one', 'b']])).rejects.toMatchObject({ code: '22P02' }); // prettier-ignore
    await expect(copy([['1', 'a'], ['1', 'b']])).rejects.toMatchObject({ code: '23505' }); // prettier-ignore
    const wide = (index: number): readonly CopyValue[] => [index === 10 ? 'bad' : String(index), 'y'.repeat(10_000)];
    await expect(copy(Array.from({ length: 2_000 }, (_, index) => wide(index)))).rejects.toMatchObject({
      code: '22P02',
    });
    expect(await count()).toBe(0);
    await copy([['1', 'a']]);
    expect(await count()).toBe(1);
  });

  it('rejects with the error of the source of the rows', async () => {
    function* broken(): Generator<readonly CopyValue[]> {
      yield ['1', 'a'];
      throw new Error('no more rows');
    }
    await expect(copy(broken())).rejects.toThrow('no more rows');
    expect(await count()).toBe(0);
  });

  // The embedded store collects all rows before it reads any.
  if (store.name === 'postgres') {
    it('hears an error of the server between rows, however many there are', async () => {
      function* rowsForever(): Generator<readonly CopyValue[]> {
        yield ['one', 'bad'];
        for (let index = 0; ; index += 1) yield [String(index), 'z'.repeat(1_000)];
      }
      await expect(copy(rowsForever())).rejects.toMatchObject({ code: '22P02' });
      expect(await count()).toBe(0);
    });

    it('rejects when the server goes away while it copies', async () => {
      const copying = inTransaction(store.db.knex, async (trx) => {
        const { rows } = await trx.raw<{ rows: { pid: number }[] }>('SELECT pg_backend_pid() AS pid');
        function* rowsForever(): Generator<readonly CopyValue[]> {
          for (let index = 0; ; index += 1) yield [String(index), 'z'.repeat(1_000)];
        }
        const ended = copyIn(trx, TARGET, rowsForever());
        await store.db.knex.raw('SELECT pg_terminate_backend(?)', [rows[0]?.pid ?? 0]);
        await ended;
      });
      await expect(copying).rejects.toThrow();
      expect(await count()).toBe(0);
    });
  }
});
