// What a gateway records about the requests that it answers: one event for each decision, and no secrets.
import { rename, rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NO_SCOPES } from '../../engine/index.js';
import { type AuditSettings, type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { verifyLogs } from '../../server/audit/verify.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { AUDIT_LIMITS } from '../../server/limits/logs.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { readLines, SILENT } from '../support/audit-log.js';
import { type Call, call, openGateway, pathOf, policyOf, type Reply, type TestGateway } from '../support/gateway.js';
import { ABSENT, HIDDEN, LENS, loadLensAndSecret } from '../support/loaded-records.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ADA = { provider: 'orcid', subject: 'ada' };

let dataDir: string;
let db: Database;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await loadLensAndSecret(db);
});

afterAll(async () => {
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

type Event = Readonly<Record<string, unknown>>;

interface Audited extends TestGateway {
  readonly trail: AuditTrail;
  /** Ends the gateway; the events of requests, without those of its start and stop. */
  readonly events: () => Promise<readonly Event[]>;
  readonly folder: string;
}

async function serveAudited(settings: Partial<AuditSettings> = {}): Promise<Audited> {
  const folder = await makeFolder();
  const options = { folder, queries: 'all', onFailure: 'refuse', ...settings } as const;
  const trail = await openTrail({
    ...options,
    db,
    lag: 10_000,
    clock: systemClock,
    nextId: makeIdSource(),
    log: SILENT,
  });
  const policy = policyOf([
    [ADA, '/labs', ['resource:read', 'namespace:read']],
    [ADA, '/labs/x', ['resource:read']],
  ]);
  const served = await openGateway({ db, audit: trail, mode: { kind: 'serve', policy } });
  const events = async (): Promise<readonly Event[]> => {
    await served.dispose();
    await trail.close();
    const all = readLines(folder).map((line) => JSON.parse(line) as Event);
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1));
    // This gateway keeps no snapshots.
    expect((await verifyLogs(folder)).faults.filter(({ kind }) => kind !== 'snapshot')).toEqual([]);
    expect([all[0]?.['operation'], all.at(-1)?.['operation']]).toEqual(['gateway.start', 'gateway.stop']);
    return all.slice(1, -1).filter(({ operation }) => operation !== 'dataset.load');
  };
  return { ...served, trail, events, folder };
}

const query = (namespace: string, more: object = {}): Call => ({ body: { family: 'resource', namespace, ...more } });

describe('the audit of requests', () => {
  it('L01 has one event for each decision, with the request id of its answer, without gaps', async () => {
    const served = await serveAudited();
    const { text: key } = await served.key();
    const asked: readonly Call[] = [
      query('/labs/x'),
      query('/vault'),
      query('/labs', { reach: 'subtree' }),
      { ...query('/labs/x'), path: '/api/v1/query/count' },
      { method: 'GET', path: `/api/v1/resources/${LENS}` },
      { method: 'GET', path: `/api/v1/resources/${HIDDEN}` },
      { method: 'GET', path: `/api/v1/resources/${ABSENT}` },
      { method: 'GET', path: '/api/v1/namespaces/labs/x' },
    ];
    const replies: Reply[] = [];
    for (let n = 0; n < 200; n += 1) {
      const one = asked[n % asked.length];
      if (one !== undefined) replies.push(await call(served.port, { ...one, key }));
    }
    const decided = (await served.events()).filter(({ kind }) => kind !== 'authentication');
    expect(decided.map(({ requestId }) => requestId)).toEqual(replies.map(({ headers }) => headers['x-request-id']));
    expect(decided.map(({ status }) => status)).toEqual(replies.map(({ status }) => status));
    const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
    const actor = { id: 'ada', identities: ['orcid:ada'], fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const lab = { scope: 'resource:read', family: 'resource', context: '/labs/x', target: '/labs/x' };
    expect(decided.slice(0, asked.length)).toMatchObject([
      {
        kind: 'query',
        operation: 'resource.query',
        outcome: 'allowed',
        items: 1,
        grants: ['g1', 'g2'],
        actor,
        access: { ...lab, reach: 'lineage' },
        snapshot: digest,
        visibility: digest,
      },
      { kind: 'refusal', outcome: 'denied', step: 'no_matching_grant', access: { context: '/vault' } },
      { kind: 'query', items: 1, grants: ['g1'], access: { reach: 'subtree' } },
      { kind: 'query', operation: 'resource.count', items: 1 },
      { kind: 'query', operation: 'resource.read', records: [LENS], items: 1, access: { ...lab, reach: 'exact' } },
      {
        kind: 'refusal',
        outcome: 'denied',
        step: 'no_matching_grant',
        records: [HIDDEN],
        access: { context: '/vault' },
      },
      { kind: 'refusal', outcome: 'failed', records: [ABSENT], access: null },
      { kind: 'query', operation: 'namespace.read', outcome: 'allowed', access: { context: '/labs/x' } },
    ]);
  });

  it('L20 has each refusal of a known caller; of unknown ones it records a few and counts the rest', async () => {
    const served = await serveAudited();
    const { text: key } = await served.key();
    const requests: readonly Call[] = [
      { body: '{', headers: { 'content-type': 'application/json', 'content-length': '1' } },
      { body: 'x'.repeat(1_100_000) },
      query('/labs/x', { where: { nonsense: { eq: 1 } } }),
    ];
    const statuses: number[] = [];
    for (const one of requests) statuses.push((await call(served.port, { ...one, key })).status);
    const begun = performance.now();
    for (let n = 0; n < 60; n += 1)
      await call(served.port, { ...query('/'), key: `bwk_${'0'.repeat(16)}_${'A'.repeat(43)}` });
    const seconds = Math.floor((performance.now() - begun) / 1000);
    const events = await served.events();
    const refusals = events.filter(({ kind }) => kind === 'refusal');
    expect(refusals.map(({ status }) => status)).toEqual(statuses);
    expect(refusals).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }, { outcome: 'failed' }]);
    const failures = events.filter(({ kind, outcome }) => kind === 'authentication' && outcome === 'denied');
    expect(failures[0]).toMatchObject({ status: 401, actor: { kind: 'anonymous' }, address: '127.0.0.1' });
    // A few in each second, of which there are more on a busy machine.
    expect(failures.length).toBeLessThanOrEqual(AUDIT_LIMITS.failedAuthentications * (seconds + 2));
  });

  it('has the first request of a credential as an authentication, and not the others', async () => {
    const served = await serveAudited();
    const { text: key } = await served.key();
    const { text: other } = await served.key({ actor: 'eve', scopes: NO_SCOPES, restrictions: [pathOf('/labs')] });
    for (let n = 0; n < 5; n += 1) await call(served.port, { method: 'GET', path: '/api/v1/whoami', key });
    await call(served.port, { method: 'GET', path: '/api/v1/whoami', key: other });
    expect(await served.events()).toMatchObject([
      { kind: 'authentication', outcome: 'allowed', actor: { id: 'ada' } },
      { kind: 'authentication', actor: { id: 'eve', credentialScopes: [], namespaceRestrictions: ['/labs'] } },
    ]);
  });

  it.each([
    { queries: 'denied', kinds: ['authentication', 'refusal'] },
    { queries: 'none', kinds: ['authentication'] },
  ] as const)('L16 leaves out what `audit.queries: $queries` says, and nothing else', async ({ queries, kinds }) => {
    const served = await serveAudited({ queries });
    const { text: key } = await served.key();
    await call(served.port, { ...query('/labs/x'), key });
    await call(served.port, { ...query('/vault'), key });
    if (queries === 'none') {
      for (const id of ['01900000-0000-7000-8000-00000000dead', 'no-id']) {
        await call(served.port, { method: 'GET', path: `/api/v1/resources/${id}`, key });
      }
      await call(served.port, { ...query('/labs/x', { nonsense: 1 }), key });
    }
    expect((await served.events()).map(({ kind }) => kind)).toEqual(kinds);
  });

  it('L13 holds no part of a key, a header or a body, whatever is asked with it', async () => {
    const served = await serveAudited();
    const { text: key, id } = await served.key();
    const canary = 'canary7f3a';
    await call(served.port, { ...query('/labs/x', { where: { name: { eq: canary } } }), key });
    await call(served.port, { ...query(`/${canary}`), key, headers: { 'x-request-id': canary, cookie: canary } });
    await call(served.port, { ...query('/labs/x', { [canary]: 1 }), key });
    await call(served.port, { method: 'GET', path: `/api/v1/resources/${canary}?x=${canary}`, key });
    await call(served.port, { ...query('/'), key: `bwk_${canary}` });
    await call(served.port, { ...query('/'), headers: { authorization: `Basic ${canary}` } });
    const events = await served.events();
    // The namespace that was asked for is what was decided about.
    const texts = events.filter(({ access }) => !JSON.stringify(access ?? '').includes(canary));
    expect(events.length - texts.length).toBe(1);
    expect(JSON.stringify(texts)).not.toContain(canary);
    expect(JSON.stringify(events)).not.toContain(key.slice(21));
    expect(JSON.stringify(events)).not.toContain(id);
  });

  it('L07 answers 503 to what it cannot record, as the settings say', async () => {
    const served = await serveAudited();
    const { text: key } = await served.key();
    expect((await call(served.port, { ...query('/labs/x'), key })).status).toBe(200);
    // At once, as an unmounted disk goes: what is removed file by file is written to meanwhile.
    const away = `${served.folder}.away`;
    await rename(served.folder, away);
    let reply = await call(served.port, { ...query('/labs/x'), key });
    for (let tries = 0; reply.status === 200 && tries < 50; tries += 1) {
      reply = await call(served.port, { ...query('/labs/x'), key });
    }
    expect([reply.status, reply.json?.['code'], reply.headers['retry-after']]).toEqual([503, 'audit.unavailable', '1']);
    // One's own rights are recorded as a query is. Who one is leaves no event.
    const get = (path: string): Promise<Reply> => call(served.port, { method: 'GET', path: `/api/v1/${path}`, key });
    expect((await get('permissions?namespace=/labs')).json?.['code']).toBe('audit.unavailable');
    expect((await get('whoami')).status).toBe(200);
    await served.dispose();
    await served.trail.close();
    await rm(away, { recursive: true });
  });
});
