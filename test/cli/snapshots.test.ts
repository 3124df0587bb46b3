// Publishing into the store of a running gateway, and choosing among what it has: `publish`, `snapshots`, `activate`, `rollback`.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { main } from '../../server/cli/main.js';
import { makeIo } from '../support/cli-io.js';
import { A, B, C } from '../support/followed-policy.js';
import { openGateway, type TestGateway } from '../support/gateway.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeFolder } from '../support/temp-folder.js';

let db: Database;
let dataDir: string;
let open: TestGateway;
let folder: string;
const [ONE, TWO, THREE] = [A, B, C].map(({ policy }) => policy.digest);

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  open = await openGateway({ admin: true, db, mode: { kind: 'serve', policy: A.policy } });
  const text = ({ bytes }: typeof A): string => Buffer.from(bytes).toString('utf8');
  folder = await makeFolder({ 'one.json': text(A), 'two.json': text(B), 'three.json': text(C) });
});

afterAll(async () => {
  await open.dispose();
  await db.close();
});

type Ran = readonly [status: number, out: Readonly<Record<string, unknown>>];

async function run(...args: readonly string[]): Promise<Ran> {
  const made = makeIo({ cwd: folder });
  const status = await main([...args, '--format', 'json'], made.io);
  const out = made.stdout();
  return [status, out === '' ? {} : (JSON.parse(out) as Readonly<Record<string, unknown>>)];
}

const publish = (name: string): Promise<Ran> => run('publish', name, '--data-dir', dataDir);
const ask = (...args: readonly string[]): Promise<Ran> => run(...args, '--admin-socket', open.admin?.socket ?? '');
const refused = (part: string): unknown => [
  6,
  { error: { code: expect.any(String), message: expect.stringContaining(part) } },
];
const inForce = (): string => open.gateway.policies.current().policy.digest;

async function until(digest: string | undefined): Promise<void> {
  for (let waited = 0; inForce() !== digest && waited < 5_000; waited += 10) await sleep(10);
  expect(inForce()).toBe(digest);
}

it('publishes once, tells the gateway, and records who did', async () => {
  expect(await publish('one.json')).toMatchObject([0, { change: 'published', snapshot: ONE, generation: 1 }]);
  expect(await publish('two.json')).toMatchObject([0, { change: 'published', snapshot: TWO, generation: 2 }]);
  await until(TWO);
  expect(await publish('two.json')).toMatchObject([0, { change: 'unchanged', generation: 2 }]);
  const [, listed] = await ask('snapshots');
  expect(listed).toMatchObject({
    snapshots: expect.arrayContaining([
      expect.objectContaining({ snapshot: TWO, state: 'active', generation: 2, reason: 'published', isSigned: false }),
      expect.objectContaining({ snapshot: ONE, state: 'stored', generation: 1, labels: 'verified' }),
    ]),
  });
});

it('rolls back with a reason, stays there, and goes further back, never to what was rolled back from', async () => {
  expect((await publish('three.json'))[0]).toBe(0);
  await until(THREE);
  expect(await ask('rollback')).toMatchObject([2, {}]);
  expect(await ask('rollback', '--reason', 'too much')).toMatchObject([0, { snapshot: TWO, generation: 4 }]);
  expect(inForce()).toBe(TWO);
  expect(await publish('three.json')).toEqual(refused('activation 4 took its place since (too much)'));
  expect(await ask('rollback', '--reason', 'further')).toMatchObject([0, { snapshot: ONE, generation: 5 }]);
  expect(await ask('rollback', '--reason', 'nothing is left')).toMatchObject([6, {}]);
  expect(await ask('rollback', '--to', THREE ?? '', '--reason', 'on purpose')).toMatchObject([0, { generation: 6 }]);
  const outbox = await db.knex<{ event: string }>('audit_outbox').orderBy('position').select('event');
  const acts = outbox.map(
    ({ event }) => JSON.parse(event) as { readonly operation: string; readonly snapshot: string },
  );
  expect(acts.map(({ operation }) => operation)).toEqual([
    ...['snapshot.publish', 'snapshot.publish', 'snapshot.publish', 'snapshot.publish'],
    ...['snapshot.rollback', 'snapshot.rollback', 'snapshot.rollback'],
  ]);
  expect(acts.at(-1)).toMatchObject({ kind: 'admin', snapshot: THREE, actor: { kind: 'operator', id: 'socket' } });
});

it('activates what the store has, and nothing else', async () => {
  expect(await ask('activate', TWO ?? '', '--reason', 'again')).toMatchObject([0, { snapshot: TWO, generation: 7 }]);
  expect(await ask('activate', TWO ?? '')).toMatchObject([0, { snapshot: TWO, generation: 7 }]);
  expect(open.gateway.policies.current()).toMatchObject({ generation: 7, reason: 'again' });
  for (const digest of [`sha256:${'0'.repeat(64)}`, 'sha256:', '../two', 'two.json']) {
    expect(await ask('activate', digest)).toEqual(refused('.not_found'));
  }
  await db.knex('snapshot_parts').where({ snapshot: ONE }).del();
  expect(await ask('activate', ONE ?? '')).toEqual(refused('snapshot.refused'));
  expect(inForce()).toBe(TWO);
});

it('publishes where gateways are, and makes no store for that', async () => {
  expect(await run('publish', 'one.json', '--data-dir', join(folder, 'none'))).toMatchObject([6, {}]);
});

it('says of what the gateway refuses what to do, and which part of it is wrong', async () => {
  const told = async (...args: readonly string[]): Promise<string> => {
    const made = makeIo({ cwd: folder });
    expect(await main([...args, '--admin-socket', open.admin?.socket ?? ''], made.io)).toBe(6);
    return made.stdout() + made.stderr();
  };
  expect(await told('activate', 'zork')).toMatch(
    /The store does not have this snapshot\n {2}help: .*`bailiwick snapshots` lists/,
  );
  expect(await told('shadow', 'zork')).toContain('/snapshot: ');
});
