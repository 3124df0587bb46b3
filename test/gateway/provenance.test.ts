// Who stands behind a policy, a key or a rollback, as the audit log tells it: an auditor needs nothing else.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { instantOf } from '../../engine/index.js';
import { GATEWAY } from '../../server/audit/event.js';
import { eventPolicy } from '../../server/audit/provenance.js';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { readLines, SILENT } from '../support/audit-log.js';
import { A, B } from '../support/followed-policy.js';
import { call, callAdmin, openGateway, type TestGateway } from '../support/gateway.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

type Event = Readonly<Record<string, unknown>>;

let db: Database;
let trail: AuditTrail;
let served: TestGateway;
let folder: string;

beforeAll(async () => {
  db = await openDatabase({ kind: 'embedded', dataDir: await newDataDir(), ...PATIENT });
  folder = await makeFolder();
  const ports = { db, clock: systemClock, nextId: makeIdSource(), log: SILENT };
  trail = await openTrail({ ...ports, folder, queries: 'all', onFailure: 'refuse', lag: 10_000 });
  const commit = 'c0ffee'.padEnd(40, '0');
  const source = { kind: 'git', repository: 'https://ci:s3cret@git.example.org/policy', ref: 'main', commit } as const;
  const expires = instantOf(Date.parse('2027-06-01T00:00:00Z'));
  const statement = { snapshot: A.policy.digest, policy: 'followed', environment: 'production', generation: 7 };
  const said = { commit, repository: 'https://ci:s3cret@git.example.org/policy' };
  const inForce = { policy: A.policy, generation: 3, source, signers: ['ben', 'ana'], askedBy: 'git main' };
  const mode = {
    ...inForce,
    kind: 'serve',
    statement: { ...statement, issued: instantOf(0), expires, source: said },
  } as const;
  served = await openGateway({ db, admin: true, audit: trail, mode });
});

afterAll(async () => {
  await served.dispose();
  await trail.close();
  await db.close();
});

/** The events of an operation, once there are so many. */
async function eventsOf(operation: string, count = 1): Promise<readonly Event[]> {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = readLines(folder).map((line) => JSON.parse(line) as Event);
    const own = found.filter((event) => event['operation'] === operation);
    if (own.length >= count) return own;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`no event ${operation}`);
}

it('a start names commit, statement and signers, and no password of the repository', async () => {
  const [start] = await eventsOf('gateway.start');
  expect(start).toMatchObject({ actor: GATEWAY, snapshot: A.policy.digest });
  expect(start?.['policy']).toEqual({
    askedBy: 'git main',
    commit: 'c0ffee'.padEnd(40, '0'),
    generation: 3,
    ref: 'main',
    repository: 'https://git.example.org/policy',
    signers: ['ana', 'ben'],
    source: 'git',
    statement: {
      environment: 'production',
      expires: '2027-06-01T00:00:00.000Z',
      generation: 7,
      issued: '1970-01-01T00:00:00.000Z',
      source: { commit: 'c0ffee'.padEnd(40, '0'), repository: 'https://git.example.org/policy' },
    },
  });
});

it('a key is named with all that it may do, when it is made and when it ends', async () => {
  const root = (await served.key({ actor: 'root', identities: [], admin: true })).text;
  const port = served.admin?.port ?? 0;
  const body = {
    ...{ actor: 'ci', identities: ['orcid:ada'], scopes: ['resource:read'], restrictions: ['/a'] },
    expires: '2099-01-01T00:00:00Z',
  };
  const made = await callAdmin(port, { method: 'POST', path: '/admin/v1/keys', key: root, body });
  const id = String(made.json?.['id']);
  const credential = {
    ...{ actor: 'ci', admin: false, decide: false, expires: '2099-01-01T00:00:00.000Z' },
    ...{ identities: ['orcid:ada'], namespaceRestrictions: ['/a'], scopes: ['resource:read'] },
  };
  await callAdmin(port, { method: 'POST', path: `/admin/v1/keys/${id}/revoke`, key: root });
  const by = { kind: 'admin', actor: { id: 'root', kind: 'admin' }, key: id };
  expect((await eventsOf('key.create'))[0]).toMatchObject({ ...by, credential });
  expect((await eventsOf('key.revoke'))[0]).toMatchObject({ ...by, credential });
  const secret = String(made.json?.['key']).split('_').slice(2).join('_');
  expect(secret.length).toBeGreaterThan(20);
  expect(readLines(folder).join('\n')).not.toContain(secret);
});

it('an activation has its reason, its number and who asked', async () => {
  const port = served.admin?.port ?? 0;
  const root = (await served.key({ actor: 'ciso', identities: [], admin: true })).text;
  const body = Buffer.from(B.bytes);
  const stored = await callAdmin(port, { method: 'POST', path: '/admin/v1/snapshots', key: root, body });
  expect(stored.status).toBe(201);
  const path = `/admin/v1/snapshots/${B.policy.digest}/activate`;
  // Somebody pasted more than the reason.
  const reason = `CHG-7 approved by CISO ${root}`;
  const chosen = await callAdmin(port, { method: 'POST', path, key: root, body: { reason } });
  const { generation } = chosen.json ?? {};
  expect((await eventsOf('snapshot.activate'))[0]).toMatchObject({
    ...{ snapshot: B.policy.digest, actor: { id: 'ciso' } },
    policy: { generation, reason: 'CHG-7 approved by CISO [credential]' },
  });
  expect((await eventsOf('policy.activate'))[0]).toMatchObject({
    ...{ snapshot: B.policy.digest, actor: { id: 'gateway' } },
    policy: { generation, reason: 'CHG-7 approved by CISO [credential]', askedBy: 'admin ciso', source: 'store' },
  });
  // No answer holds a secret (canaries.ts), this one with the reason included.
  expect((await callAdmin(port, { key: root })).json).toMatchObject({ reason: 'CHG-7 approved by CISO [credential]' });
});

it('what an actor was told about itself is recorded, nothing held too', async () => {
  const { text: key } = await served.key({ actor: 'ada' });
  await call(served.port, { method: 'GET', path: '/api/v1/permissions?namespace=/b/x', key });
  await call(served.port, { method: 'GET', path: '/api/v1/permissions?namespace=/z', key });
  const [first, second] = await eventsOf('permissions', 2);
  expect(first).toMatchObject({ kind: 'query', actor: { id: 'ada' }, namespace: '/b/x', held: ['resource:read'] });
  expect(first?.['grants']).not.toEqual([]);
  expect(second).toMatchObject({ kind: 'query', outcome: 'allowed', namespace: '/z', held: [], grants: [] });
});

it('a text is cut between two characters', () => {
  const reason = `${'x'.repeat(499)}\u{1f600}`;
  expect(eventPolicy({ reason })).toEqual({ reason: 'x'.repeat(499) });
});

it('an offer that was refused is named with its place and what is wrong with it', () => {
  const source = { kind: 'url', url: 'https://ana:pw@example.org/p' } as const;
  const policy = eventPolicy({ source, fault: 'signature.missing', reason: 'x'.repeat(9_000) });
  expect(policy).toEqual({
    ...{ fault: 'signature.missing', reason: 'x'.repeat(500), source: 'url', url: 'https://example.org/p' },
  });
});
