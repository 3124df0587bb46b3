// What a gateway remembers of keys: for how long, by which clock, until which news, and how much of it.
import { expect, it, test } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import type { StoredKey } from '../../../server/auth/api-keys.js';
import { makeKeyLeases } from '../../../server/auth/key-leases.js';
import { REVOCATIONS_CHANNEL } from '../../../server/auth/revocation-news.js';
import type { Database } from '../../../server/db/database.js';
import { KEY_LIMITS } from '../../../server/limits/credentials.js';
import { pathOf } from '../../support/gateway.js';

const NOW = instantOf(Date.parse('2027-01-01T00:00:00Z'));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const deaf: Database['listen'] = () => new Promise(() => undefined);

const SECRET = new Uint8Array(32).fill(7);
const KEY: StoredKey = {
  actor: 'ada',
  identities: [],
  scopes: null,
  restrictions: null,
  expires: null,
  admin: false,
  id: 'k',
  monitor: false,
  createdAt: NOW,
  revokedAt: null,
  lastUsedAt: null,
  secretHash: SECRET,
};

function leasesAt() {
  const clock = { tick: 1_000, time: 5_000 };
  const leases = makeKeyLeases({ db: { listen: deaf }, log: silent, clocks: () => ({ ...clock }) });
  const isBelieved = (): boolean => leases.find('k', SECRET) !== null;
  return { clock, leases, isBelieved };
}

test('a lease ends by whichever clock has advanced further', () => {
  for (const name of ['tick', 'time'] as const) {
    const { clock, leases, isBelieved } = leasesAt();
    leases.keep(KEY, leases.moment());
    clock[name] += KEY_LIMITS.lease - 1;
    expect(isBelieved()).toBe(true);
    clock[name] += 1;
    expect(isBelieved()).toBe(false);
  }
});

test('a lease ends when the clock is set back', () => {
  const { clock, leases, isBelieved } = leasesAt();
  leases.keep(KEY, leases.moment());
  clock.time -= 1;
  expect(isBelieved()).toBe(false);
});

test('a lease counts from before the store was asked, and one request renews it', () => {
  const { clock, leases, isBelieved } = leasesAt();
  const asked = leases.moment();
  clock.tick += KEY_LIMITS.lease / 2 - 1;
  leases.keep(KEY, asked);
  expect(leases.find('k', SECRET)?.isAging).toBe(false);
  clock.tick += 1;
  expect([leases.find('k', SECRET)?.isAging, leases.find('k', SECRET)?.isAging]).toEqual([true, false]);
  clock.tick += KEY_LIMITS.lease / 2;
  expect(isBelieved()).toBe(false);
});

test('what was asked before a revocation was announced is not believed after it', async () => {
  let announce: () => void = () => undefined;
  const listen: Database['listen'] = (_, handler) => {
    announce = () => {
      handler('k');
    };
    return Promise.resolve({ failure: null, close: () => Promise.resolve() });
  };
  const leases = makeKeyLeases({ db: { listen }, log: silent });
  leases.keep(KEY, leases.moment());
  const asked = leases.moment();
  announce();
  expect(leases.find('k', SECRET)).toBeNull();
  leases.keep(KEY, asked);
  expect(leases.find('k', SECRET)).toBeNull();
  leases.keep(KEY, leases.moment());
  expect(leases.find('k', SECRET)?.key).toBe(KEY);
  await leases.close();
});

test('while the store cannot be asked, a key is recalled for a day, unless its own revocation was announced', async () => {
  const { clock, leases } = leasesAt();
  leases.keep(KEY, leases.moment());
  clock.tick += KEY_LIMITS.recalled - 1;
  expect([leases.find('k', SECRET), leases.recall('k', SECRET), leases.recall('l', SECRET)]).toEqual([null, KEY, null]);
  expect(leases.recall('k', new Uint8Array(32).fill(8))).toBeNull();
  clock.tick += 1;
  expect(leases.recall('k', SECRET)).toBeNull();

  let announce: (id: string | null) => void = () => undefined;
  const listen: Database['listen'] = (_, handler) => {
    announce = handler;
    return Promise.resolve({ failure: null, close: () => Promise.resolve() });
  };
  const told = makeKeyLeases({ db: { listen }, log: silent });
  told.keep(KEY, told.moment());
  const asked = told.moment();
  for (const other of [null, 'l']) announce(other);
  expect(told.recall('k', SECRET)).toBe(KEY);
  announce('k');
  // The answer to a question from before comes late.
  told.keep(KEY, asked);
  expect(told.recall('k', SECRET)).toBeNull();
  await told.close();
});

it('is told of revocations on the channel where they are announced, from the first key on, until it is closed', async () => {
  const heard: string[] = [];
  const listen: Database['listen'] = (channel) => {
    heard.push(channel);
    return Promise.resolve({
      failure: null,
      close: () => {
        heard.push('closed');
        return Promise.resolve();
      },
    });
  };
  const warned: unknown[] = [];
  const log = { ...silent, warn: (fields: object) => void warned.push(fields) };
  const idle = makeKeyLeases({ db: { listen }, log });
  idle.find('k', SECRET);
  await idle.close();
  expect(heard).toEqual([]);
  const leases = makeKeyLeases({ db: { listen }, log });
  leases.keep(KEY, leases.moment());
  await new Promise(setImmediate);
  await leases.close();
  expect(heard).toEqual([REVOCATIONS_CHANNEL, 'closed']);
  expect(warned).toEqual([]);
});

test('how much is remembered has a limit, to which all counts that makes a key long', () => {
  const half = KEY_LIMITS.leased / 2;
  const long = 'a'.repeat(half);
  const path = pathOf(`/${'a'.repeat(60)}`);
  const many = Array.from({ length: Math.ceil(half / path.length) }, () => path);
  const both = (more: Partial<StoredKey>): readonly boolean[] => {
    const { leases } = leasesAt();
    for (const id of ['k', 'l']) leases.keep({ ...KEY, ...more, id }, leases.moment());
    return ['k', 'l'].map((id) => leases.find(id, SECRET) !== null);
  };
  expect(both({})).toEqual([true, true]);
  const few = { identities: [{ provider: 'orcid', subject: 'ada' }], restrictions: [path] };
  expect(both(few)).toEqual([true, true]);
  expect(both({ identities: [{ provider: 'orcid', subject: long }] })).toEqual([false, true]);
  expect(both({ identities: [{ provider: long, subject: 'ada' }] })).toEqual([false, true]);
  expect(both({ restrictions: many })).toEqual([false, true]);
  // What fills the memory alone is not kept, and those that are there stay.
  const { leases, isBelieved } = leasesAt();
  leases.keep(KEY, leases.moment());
  leases.keep({ ...KEY, id: 'l', restrictions: [...many, ...many] }, leases.moment());
  expect([isBelieved(), leases.find('l', SECRET)]).toEqual([true, null]);
});

test('a store that cannot be listened to is reported once', async () => {
  const listen: Database['listen'] = () =>
    Promise.resolve({ failure: new Error('too many connections'), close: () => Promise.resolve() });
  const warned: unknown[] = [];
  const log = { ...silent, warn: (...line: unknown[]) => void warned.push(line) };
  const leases = makeKeyLeases({ db: { listen }, log });
  for (let times = 0; times < 2; times += 1) {
    leases.keep(KEY, leases.moment());
    await new Promise(setImmediate);
  }
  expect(warned).toEqual([
    [
      { error: new Error('too many connections') },
      expect.stringMatching(/^the store sends no notifications of revocations/),
    ],
  ]);
  await leases.close();
});
