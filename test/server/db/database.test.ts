// The door to the store, the same on the embedded engine and on a real server.
import { beforeAll, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeOnStores } from '../../support/stores.js';
import { openDatabase } from '../../../server/db/database.js';
import { inTransaction } from '../../../server/db/transaction.js';
import { toStoreProblem } from '../../../server/http/store-problem.js';

describeOnStores('a database', (store) => {
  beforeAll(async () => {
    await store.db.knex.raw('create table things (id int primary key, name text not null)');
  });

  it('answers', async () => {
    await store.db.ping();
    expect(store.db.kind).toBe(store.name === 'embedded' ? 'embedded' : 'external');
  });

  it('commits what a transaction did and returns its result', async () => {
    const { knex } = store.db;
    expect(
      await inTransaction(knex, async (trx) => trx('things').insert({ id: 1, name: 'one' }).returning('id')),
    ).toEqual([{ id: 1 }]);
    expect(await knex('things').where({ id: 1 }).first()).toEqual({ id: 1, name: 'one' });
  });

  it('rolls back and passes the error on', async () => {
    const { knex } = store.db;
    const failure = new Error('changed my mind');
    const attempt = inTransaction(knex, async (trx) => {
      await trx('things').insert({ id: 2, name: 'two' });
      throw failure;
    });
    await expect(attempt).rejects.toBe(failure);
    expect(await knex('things').where({ id: 2 })).toEqual([]);
  });

  it('does not call a rolled-back transaction a success', async () => {
    const { knex } = store.db;
    const attempt = inTransaction(knex, async (trx) => {
      await trx('things').insert({ id: 3, name: 'three' });
      await trx('things')
        .insert({ id: 3, name: 'three again' })
        .catch(() => undefined);
      return 'done';
    });
    await expect(attempt).rejects.toMatchObject({ code: 'store.not_committed' });
    expect(await knex('things').where({ id: 3 })).toEqual([]);
    expect(toStoreProblem(await attempt.catch((error: unknown) => error))).toBeNull();
  });

  it('says so after it has been closed', async () => {
    const second = await openDatabase(store.config);
    await second.close();
    await second.close();
    const error: unknown = await second.ping().catch((failure: unknown) => failure);
    expect(toStoreProblem(error)).toMatchObject({ code: 'db.unavailable' });
  });

  it('lets a transaction that runs while it is closed commit', async () => {
    const second = await openDatabase(store.config);
    const closing: Promise<boolean>[] = [];
    await second.transaction(async (trx) => {
      await trx('things').insert({ id: 4, name: 'four' });
      closing.push(second.close());
      await sleep(50);
      await trx('things').where({ id: 4 }).update({ name: 'still four' });
    });
    expect(await Promise.all(closing)).toEqual([true]);
    expect(second.pools().map(({ open }) => open)).toEqual([0, 0, 0]);
    const late: unknown = await second.knex('things').catch((failure: unknown) => failure);
    expect(toStoreProblem(late)).toMatchObject({ code: 'db.unavailable' });
    expect(await store.db.knex('things').where({ id: 4 })).toEqual([{ id: 4, name: 'still four' }]);
  });

  it('keeps values out of error messages', async () => {
    const failure: unknown = await store.db
      .knex('things')
      .insert({ id: 1, name: 'a-secret-value' })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).not.toContain('a-secret-value');
    expect(toStoreProblem(failure)).toBeNull();
  });
});
