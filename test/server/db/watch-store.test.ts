// What the log says of a store and a replica that go away and come back: one line each.
import { expect, it } from '@jest/globals';
import { StoreError } from '../../../server/db/failures.js';
import type { ReplicaState } from '../../../server/db/replica.js';
import { watchStore } from '../../../server/db/watch-store.js';

it.each(['external', 'embedded'] as const)('of an %s store', async (kind) => {
  const lines: string[] = [];
  const to = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${Object.keys(fields).join()}`);
  const log = { info: to('info'), warn: to('warn'), error: to('error') };
  let failure: Error | null = null;
  const good: ReplicaState = { address: 'one:5432', isUsed: true, age: 1, fault: null, reason: null };
  let first = good;
  const replicas = (): readonly ReplicaState[] => [first, { ...good, address: 'two:5432' }];
  const ping = (): Promise<void> => (failure === null ? Promise.resolve() : Promise.reject(failure));
  let missing: readonly unknown[] = [];
  const vital = <Row>(): Promise<readonly Row[]> => Promise.resolve(missing as readonly Row[]);
  const watch = watchStore({ db: { kind, ping, replicas, vital }, log, interval: 3_600_000 });
  const look = async (): Promise<readonly string[]> => {
    lines.length = 0;
    await watch.pollNow();
    return [...lines];
  };
  expect(await look()).toEqual([]);
  failure = new StoreError('store.busy', 'busy');
  expect(await look()).toEqual([]);
  failure = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(await look()).toEqual(['error the store is lost: requests are refused until it is back code,cause,reason']);
  expect(await look()).toEqual([]);
  failure = null;
  expect(await look()).toEqual(['info the store is back seconds']);
  failure = new StoreError('store.timeout', 'slow');
  expect(await look()).toHaveLength(kind === 'external' ? 1 : 0);
  failure = null;
  await look();

  // A server that refuses connections while it becomes a standby, and is promoted later.
  expect(watch.fault()).toBeNull();
  failure = new StoreError('store.read_only', 'the server is a standby');
  const noWrites = 'error the store takes no writes: they are refused until it does code,reason';
  expect(await look()).toEqual([noWrites]);
  expect([await look(), watch.fault()]).toEqual([[], 'the server is a standby']);
  failure = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  expect(await look()).toEqual(['error the store is lost: requests are refused until it is back code,cause,reason']);
  failure = new StoreError('store.read_only', 'the server is a standby');
  expect(await look()).toEqual([noWrites]);
  failure = null;
  expect([await look(), watch.fault()]).toEqual([['info the store takes writes again seconds'], null]);

  failure = new StoreError('store.full', 'the disk of the store is full');
  const full = 'error the disk of the store is full: requests that need room there are refused until there is some';
  expect([await look(), watch.fault()]).toEqual([[`${full} code,reason`], 'the disk of the store is full']);
  failure = null;
  expect([await look(), watch.fault()]).toEqual([['info the disk of the store has room again seconds'], null]);

  // Of what nobody has thought of, `/readyz` says that the store is away, too.
  failure = Object.assign(new Error('relation "records" does not exist'), { code: '42P01', severity: 'ERROR' });
  expect(await look()).toEqual(['error the store is lost: requests are refused until it is back code,cause,reason']);
  expect(watch.fault()).toBe('the store cannot be used: SQLSTATE 42P01: relation "records" does not exist');
  failure = new TypeError('not a function');
  expect([await look(), watch.fault()]).toEqual([[], 'the store cannot be used: not a function']);
  failure = null;
  expect(await look()).toEqual(['info the store is back seconds']);

  if (kind === 'external') {
    missing = [{ needed: 'SELECT on activations' }];
    const lacks = 'the database user lacks rights that requests need: run deploy/postgresql/grants.sql as the owner';
    expect(await look()).toEqual([`error ${lacks} missing`]);
    expect([await look(), watch.fault()]).toEqual([[], 'the database user lacks rights: SELECT on activations']);
    // The look itself needs rights, too.
    const absent = Object.assign(new Error('relation "records" does not exist'), { code: '42P01', severity: 'ERROR' });
    for (failure of [new StoreError('store.rights', 'lacks a privilege'), absent]) {
      await look();
      expect(watch.fault()).toBe('the database user lacks rights: SELECT on activations');
    }
    failure = null;
    await look();
    missing = [];
    expect(await look()).toEqual(['info the database user has all rights that requests need again ']);
  }

  first = { ...good, isUsed: false, age: null, fault: 'away', reason: 'password authentication failed' };
  expect(await look()).toEqual(['warn the replica cannot be reached: others answer its queries replica,fault,reason']);
  expect(await look()).toEqual([]);
  first = good;
  expect(await look()).toEqual(['info the replica is back replica,seconds']);

  // One that lags for a moment is not worth a line, and neither is one that was not measured yet.
  for (const age of [2_000, null]) {
    first = { ...good, isUsed: false, age };
    for (const _ of [1, 2]) expect(await look()).toEqual([]);
    expect(await look()).toEqual([
      'warn the replica is older than `database.replicaLag`, or its age is unknown: others answer its queries replica,fault',
    ]);
    expect(await look()).toEqual([]);
    first = good;
    expect(await look()).toEqual(['info the replica is back replica,seconds']);
  }
  await watch.stop();
});
