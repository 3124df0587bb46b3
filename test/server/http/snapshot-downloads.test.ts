// Snapshots that admins read: as slowly as they like, without keeping other admins waiting; and never the half of one as a whole.
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { rm } from 'node:fs/promises';
import { instantOf } from '../../../engine/index.js';
import { type Database, openDatabase } from '../../../server/db/database.js';
import { SHARE_LIMITS } from '../../../server/limits/http.js';
import { STORED_LIMITS } from '../../../server/limits/policy.js';
import { storedSnapshots } from '../../../server/policy/store/stored-snapshots.js';
import { callAdmin, openGateway, openSocket, policyOf, raw, type TestGateway } from '../../support/gateway.js';
import { newDataDir, PATIENT } from '../../support/stores.js';

/** Larger than all that admins may leave unread. Nobody looks into it. */
const BYTES = Buffer.alloc(SHARE_LIMITS.adminsUnreadBytes + STORED_LIMITS.partBytes + 7, 'snapshot ');
const DIGEST = `sha256:${'a'.repeat(64)}`;
const PATH = `/admin/v1/snapshots/${DIGEST}`;

let dataDir: string;
let db: Database;
let open: TestGateway;
let port: number;
let keys: readonly string[];

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  open = await openGateway({ db, admin: true });
  port = open.admin?.port ?? 0;
  const made = ['one', 'two'].map((actor) => open.key({ actor, identities: [], admin: true }));
  keys = (await Promise.all(made)).map(({ text }) => text);
});

beforeEach(async () => {
  const policy = { ...policyOf([]), name: 'large', digest: DIGEST, decisions: DIGEST };
  await storedSnapshots(db).put({ policy, bytes: BYTES, labels: 'verified', statement: null, at: instantOf(1) });
});

afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const requestOf = (method: string, key = '', version = '1.1'): string =>
  `${method} ${PATH} HTTP/${version}\r\nHost: 127.0.0.1:${String(port)}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;

/** Begins to read, and stops with the first bytes. */
async function begin(key = ''): Promise<{ readonly socket: Socket; readonly rest: () => Promise<Buffer> }> {
  const socket = await openSocket(port);
  socket.on('error', () => undefined);
  socket.write(requestOf('GET', key));
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const rest = async (): Promise<Buffer> => {
    const chunks = [first];
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  return { socket, rest };
}

test('an admin who reads a snapshot slowly keeps no other admin waiting, and gets all of it', async () => {
  const slow = await begin(keys[0]);
  const others = await Promise.all([begin(keys[0]), begin(keys[0])]);
  expect((await callAdmin(port, { key: keys[1] ?? '' })).status).toBe(200);
  expect((await callAdmin(port, { key: keys[1] ?? '', path: '/admin/v1/snapshots' })).status).toBe(200);
  expect((await callAdmin(port, { key: keys[0] ?? '' })).status).toBe(200);
  for (const { socket } of others) socket.destroy();
  const answer = await slow.rest();
  const end = answer.indexOf('\r\n\r\n');
  const head = answer.toString('latin1', 0, end);
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  expect(head).toContain(`\r\nContent-Length: ${String(BYTES.length)}\r\n`);
  expect(head).toContain('\r\nContent-Type: application/json\r\n');
  expect(answer.subarray(end + 4).equals(BYTES)).toBe(true);
});

test('an admin who begins any number of downloads has as many as turns, and no other admin waits', async () => {
  const sockets = await Promise.all(
    Array.from({ length: 80 }, async () => {
      const socket = await openSocket(port);
      socket.on('error', () => undefined);
      socket.write(requestOf('GET', keys[0]));
      return socket;
    }),
  );
  const heads = sockets.map(async (socket) => {
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return first.toString('latin1', 9, 12);
  });
  await Promise.race(heads);
  expect((await callAdmin(port, { key: keys[1] ?? '', path: '/admin/v1/snapshots' })).status).toBe(200);
  expect((await Promise.all(heads)).sort()).toEqual([
    ...Array<string>(4).fill('200'),
    ...Array<string>(76).fill('429'),
  ]);
  expect((await callAdmin(port, { key: keys[1] ?? '', path: '/admin/v1/snapshots' })).status).toBe(200);
  for (const socket of sockets) socket.destroy();
  expect((await callAdmin(port, { key: keys[0] ?? '', path: '/admin/v1/snapshots' })).status).toBe(200);
});

test.each(['1.0', '1.1'])('HEAD with HTTP/%s says how large it is, and no more', async (version) => {
  const [head = '', body] = (await raw(port, requestOf('HEAD', keys[0], version))).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 /);
  expect(head).toContain(`\r\nContent-Length: ${String(BYTES.length)}`);
  expect(body).toBe('');
});

test('a snapshot that the store loses while it is read ends short of its length, and the log says why', async () => {
  const reader = await begin(keys[0]);
  const before = open.lines.length;
  await db.knex.raw('DELETE FROM snapshot_parts WHERE snapshot = ? AND part > 40', [DIGEST]);
  const answer = await reader.rest();
  expect(answer.length).toBeGreaterThan(STORED_LIMITS.partBytes);
  expect(answer.length).toBeLessThan(BYTES.length);
  expect(open.lines.slice(before).filter(({ path, level }) => path === PATH && level !== 'info')).toMatchObject([
    { path: PATH },
  ]);
});
