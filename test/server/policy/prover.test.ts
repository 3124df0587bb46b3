// The queue of questions to be proved: whoever gives up leaves it, and nobody waits in it for longer than a connection lives.
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { mock } from 'node:test';
import { rm } from 'node:fs/promises';
import { instantOf, isScopeName, scopeSetOf } from '../../../engine/index.js';
import type { AskerBounds } from '../../../server/asking/about-others.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { HTTP_LIMITS, SHARE_LIMITS } from '../../../server/limits/http.js';
import { POLICY_LIMITS } from '../../../server/limits/policy.js';
import { makeProver } from '../../../server/policy/open/prover.js';
import { storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { call, openGateway, openSocket, pathOf, snapshotOf, type TestGateway } from '../../support/gateway.js';
import { failIdle } from '../../support/idle-thread.js';
import { newDataDir, PATIENT } from '../../support/stores.js';
import { until } from '../../support/until.js';

const { bytes, policy } = snapshotOf(
  Array.from({ length: 400 }, (_, index) => [
    { provider: 'orcid', subject: `s${String(index)}` },
    `/labs/x${String(index)}`,
    ['resource:read', 'resource:write', 'namespace:read'],
  ]),
);
const AT = instantOf(Date.now());
const [ADA, BOB] = [{ id: 'ada' }, { id: 'bob' }];
const SCOPE = 'resource:read' as const;
const ASKED = { scope: SCOPE, namespace: pathOf('/labs/x1'), at: AT, offset: 0, size: 50 };

let dataDir: string;
let db: Database;
let open: TestGateway;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await storedSnapshots(db).put({ policy, bytes, labels: 'verified', statement: null, at: AT });
  // More at once than may wait, so that one key fills the queue.
  open = await openGateway({ db, mode: { kind: 'serve', policy }, concurrency: 200 });
});
afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});
afterEach(() => {
  mock.timers.reset();
});

/** Takes a while: a thousand explanations, each with what would help. */
const LONG = JSON.stringify({
  items: Array.from({ length: 1_000 }, (_, index) => ({
    actor: { identities: [`orcid:s${String(index % 400)}`] },
    request: { kind: 'access', scope: 'process-run:write', target: `/labs/x${String((index * 7) % 400)}` },
  })),
});

async function askLong(key: string): Promise<Socket> {
  const socket = await openSocket(open.port);
  socket.on('error', () => undefined);
  socket.write(
    `POST /api/v1/explain HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${String(LONG.length)}\r\n\r\n${LONG}`,
  );
  return socket;
}

test('the questions of clients that have left are dropped, and the one that is being answered is stopped', async () => {
  const { text: key } = await open.key({ actor: 'portal', identities: [], decide: true });
  const whoCan = (): Promise<number> =>
    call(open.port, {
      path: '/api/v1/who-can',
      key,
      body: { scope: 'resource:read', namespace: '/labs/x1' },
    }).then(({ status }) => status);
  expect(await whoCan()).toBe(200);
  const sockets = await Promise.all(Array.from({ length: POLICY_LIMITS.proofsWaiting + 6 }, () => askLong(key)));
  const heads: string[] = [];
  for (const socket of sockets) socket.once('data', (first: Buffer) => heads.push(first.toString('latin1', 0, 12)));
  await until(() => heads.includes('HTTP/1.1 503'), 'the one for which there is no place');
  const closed = sockets.map((socket) => once(socket, 'close'));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  const began = performance.now();
  await until(async () => (await whoCan()) === 200, 'a place in the queue');
  const alone = performance.now() - began;
  // All of them would have taken so many times as long as one.
  const socket = await askLong(key);
  const one = performance.now();
  await once(socket, 'data');
  const long = performance.now() - one;
  socket.destroy();
  expect(alone).toBeLessThan(10 * long + 2_000);
});

test('a question that waits too long is refused for now, before its connection would end', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  let found = (): void => undefined;
  const isFree = new Promise<null>((resolve) => {
    found = () => {
      resolve(null);
    };
  });
  const prover = makeProver({ find: () => isFree, read: () => Promise.resolve(null) });
  const gone = new AbortController().signal;
  const refused = { code: 'proof.unavailable', status: 503, detail: { retryAfter: 1 } };
  const first = expect(prover.whoCan(policy.digest, ASKED, { actor: ADA, gone })).rejects.toMatchObject(refused);
  const second = expect(prover.whoCan(policy.digest, ASKED, { actor: ADA, gone })).rejects.toMatchObject(refused);
  mock.timers.tick(POLICY_LIMITS.proofPatience);
  await Promise.all([first, second]);
  found();
  expect(POLICY_LIMITS.proofPatience + SHARE_LIMITS.patience).toBeLessThan(HTTP_LIMITS.idleSocketTimeout - 5_000);
  prover.close();
});

test('who gives up is let go at once, and the next question has its turn', async () => {
  const stored = storedSnapshots(db);
  let found = (): void => undefined;
  const isFree = new Promise<void>((resolve) => {
    found = resolve;
  });
  const prover = makeProver({ find: (digest) => isFree.then(() => stored.find(digest)), read: stored.read });
  const staying = new AbortController().signal;
  const leaving = new AbortController();
  const first = prover.whoCan(policy.digest, ASKED, { actor: ADA, gone: leaving.signal });
  const second = prover.whoCan(policy.digest, ASKED, { actor: ADA, gone: leaving.signal });
  const third = prover.whoCan(policy.digest, ASKED, { actor: ADA, gone: staying });
  const left = [expect(first).rejects.toThrow('gone'), expect(second).rejects.toThrow('gone')];
  leaving.abort(new Error('gone'));
  await Promise.all(left);
  found();
  expect(await third).toMatchObject({ count: 1 });
  prover.close();
});

test('of each list, the thread gives the part that is asked for, and how many entries the whole has', async () => {
  const prover = makeProver(storedSnapshots(db));
  const by = { actor: ADA, gone: new AbortController().signal };
  const { digest } = policy;
  const holder = JSON.stringify({ identity: 'orcid:s1', grants: [{ id: 'g2' }] });
  expect(await prover.whoCan(digest, ASKED, by)).toEqual({ count: 1, items: [holder] });
  expect(await prover.whoCan(digest, { ...ASKED, offset: 1 }, by)).toEqual({ count: 1, items: [] });
  const subjects = (provider: string): Promise<unknown> => prover.subjects(digest, { ...ASKED, provider }, by);
  expect(await subjects('orcid')).toEqual({ count: 1, items: ['s1'] });
  expect(await subjects('orci')).toEqual({ count: 0, items: [] });
  const held = { identity: { provider: 'orcid', subject: 's1' }, at: AT, offset: 0, size: 50 };
  const within = (scope: string): AskerBounds => ({
    credentialScopes: scopeSetOf([scope].filter(isScopeName)),
    namespaceRestrictions: [pathOf('/labs/x1/y'), pathOf('/labs/x2')],
  });
  const region = { namespace: '/labs/x1/y', extent: 'subtree', scopes: [SCOPE], grants: [{ id: 'g2' }] };
  const regions = await prover.whatCan(digest, { ...held, within: within(SCOPE) }, by);
  expect({ ...regions, items: regions.items.map((one): unknown => JSON.parse(one)) }).toEqual({
    count: 1,
    items: [region],
  });
  expect(await prover.whatCan(digest, { ...held, within: within('process-run:read') }, by)).toEqual({
    count: 0,
    items: [],
  });
  const places = { ...held, scope: SCOPE, within: within(SCOPE) };
  expect(await prover.places(digest, places, by)).toEqual({ count: 1, roots: ['/labs/x1/y'], nodes: [] });
  expect(await prover.places(digest, { ...places, offset: 1 }, by)).toEqual({ count: 1, roots: [], nodes: [] });
  prover.close();
});

test('who asks much at once keeps another waiting for no more than one question', async () => {
  const prover = makeProver(storedSnapshots(db));
  const { signal: gone } = new AbortController();
  const order: string[] = [];
  const ask = async (actor: typeof ADA): Promise<void> => {
    await prover.whoCan(policy.digest, ASKED, { actor, gone });
    order.push(actor.id);
  };
  await Promise.all([...Array.from({ length: 3 }, () => ask(ADA)), ask(BOB)]);
  expect(order).toEqual(['ada', 'bob', 'ada', 'ada']);
  prover.close();
});

test('a thread that fails while nobody asks ends nothing else, and the next question gets a new one', async () => {
  const prover = makeProver(storedSnapshots(db));
  const { signal: gone } = new AbortController();
  const ask = (): Promise<unknown> => prover.whoCan(policy.digest, ASKED, { actor: ADA, gone });
  await failIdle(ask);
  expect(await ask()).toMatchObject({ count: 1 });
  prover.close();
});
