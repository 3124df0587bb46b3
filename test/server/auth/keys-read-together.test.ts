// Keys are looked up together, and never answered from an earlier look-up. Whoever asks while others are being answered
// shares the next statement, so a revocation takes effect.
import { beforeEach, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { instantOf } from '../../../engine/index.js';
import { createKey, KeyRowError, revokeKey } from '../../../server/auth/api-keys.js';
import type { Database } from '../../../server/db/database.js';
import { makeKeyReader } from '../../../server/auth/key-reader.js';
import { describeOnStores } from '../../support/stores.js';

const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const FIELDS = { identities: [], scopes: null, restrictions: null, expires: null, admin: false };

describeOnStores('keys', (store) => {
  let statements = 0;
  /** The store, with each look-up counted. */
  const counted = (): Database => ({
    ...store.db,
    vital: (...asked) => {
      statements += 1;
      return store.db.vital(...asked);
    },
  });
  const made = async (actor: string): Promise<string> => (await createKey(store.db, { ...FIELDS, actor }, NOW)).key.id;

  beforeEach(() => {
    statements = 0;
  });

  it('of one turn are read by one statement', async () => {
    const [ana, bo] = [await made('ana'), await made('bo')];
    const read = makeKeyReader(counted());
    statements = 0;
    const found = await Promise.all([read(ana), read(bo), read('nobody'), read(ana)]);
    expect(found.map((key) => key?.actor ?? null)).toEqual(['ana', 'bo', null, 'ana']);
    expect(statements).toBe(1);
    await read(ana);
    expect(statements).toBe(2);
  });

  it('asked for while others are looked up are read by one statement after that', async () => {
    const ids = [await made('flo'), await made('gus'), await made('hal')];
    const read = makeKeyReader(counted());
    await read(ids[0] ?? '');
    statements = 0;
    const first = read(ids[0] ?? '');
    // Its statement is sent by the time that other work gets its turn.
    await new Promise((resolve) => setImmediate(resolve));
    const later = ids.map((id) => read(id));
    expect((await first)?.actor).toBe('flo');
    expect((await Promise.all(later)).map((key) => key?.actor)).toEqual(['flo', 'gus', 'hal']);
    expect(statements).toBe(2);
  });

  it('asked for are not held up by a look-up that does not end', async () => {
    const id = await made('ida');
    let held = 0;
    // A store whose first look-up never ends; all others are the true one's.
    const vital: Database['vital'] = (...asked) => {
      if (held > 0) return store.db.vital(...asked);
      held += 1;
      return new Promise(() => undefined);
    };
    const read = makeKeyReader({ ...store.db, vital });
    void read(id);
    await new Promise((resolve) => setImmediate(resolve));
    expect((await read(id))?.actor).toBe('ida');
    expect(held).toBe(1);
  });

  it('asked for while the store is busy are looked up together, a few times', async () => {
    const id = await made('jo');
    const held: (() => void)[] = [];
    // A store that answers nothing until it is told to.
    const vital: Database['vital'] = async (...asked) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return store.db.vital(...asked);
    };
    const read = makeKeyReader({ ...store.db, vital });
    const asked: Promise<unknown>[] = [];
    for (let i = 0; i < 60; i += 1) {
      asked.push(read(id));
      await sleep(5);
    }
    expect(held.length).toBeGreaterThan(1);
    expect(held.length).toBeLessThan(12);
    const release = setInterval(() => held.shift()?.(), 1);
    expect(await Promise.all(asked)).toEqual(asked.map(() => expect.objectContaining({ actor: 'jo' })));
    clearInterval(release);
  });

  it('are revoked for every later request, also while earlier ones are being answered', async () => {
    const id = await made('cy');
    const read = makeKeyReader(counted());
    for (let round = 0; round < 20; round += 1) expect((await read(id))?.revokedAt).toBeNull();
    const early = [read(id), read(id)];
    await revokeKey(store.db, { id, now: NOW });
    const late = [read(id), read(id)];
    await Promise.all(early);
    expect((await Promise.all(late)).map((key) => key?.revokedAt)).toEqual([NOW, NOW]);
    expect((await read(id))?.revokedAt).toBe(NOW);
  });

  it('are refused one by one if a row is not a key, and all together if the store fails', async () => {
    const [good, bad] = [await made('di'), await made('ed')];
    await store.db.knex('api_keys').where({ id: bad }).update({ scopes: '["resource:delete"]' });
    const read = makeKeyReader(counted());
    const [first, second] = await Promise.allSettled([read(good), read(bad)]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { actor: 'di' } });
    expect(second).toMatchObject({ status: 'rejected', reason: expect.any(KeyRowError) });
    await store.db.knex.raw('ALTER TABLE api_keys RENAME TO kept_keys');
    try {
      const failed = await Promise.allSettled([read(good), read(good)]);
      expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    } finally {
      await store.db.knex.raw('ALTER TABLE kept_keys RENAME TO api_keys');
    }
    expect((await read(good))?.actor).toBe('di');
  });
});
