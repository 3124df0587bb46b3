// What keys with the right to ask learn about others: exactly what the engine decides, nothing outside their own bounds, and one event
// for each answer, which a replay makes again.
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decideRaw, instantOf, type RawActor, type RawRequest, SCOPES, scopeSetOf } from '../../engine/index.js';
import { readStored } from '../../server/audit/search.js';
import { isReproduced, makeReplay } from '../../server/audit/replay.js';
import { keepSnapshot } from '../../server/audit/snapshots.js';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import type { NewKey } from '../../server/auth/api-keys.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { storedSnapshots } from '../../server/policy/store/stored-snapshots.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { readLines, SILENT } from '../support/audit-log.js';
import { call, openGateway, pathOf, type Reply, snapshotOf, type TestGateway } from '../support/gateway.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const BOB = { provider: 'orcid', subject: 'bob' };
const REASON = 'Beam time "X"';
const { bytes, policy } = snapshotOf([
  [ADA, '/labs', ['resource:read', 'resource:write', 'namespace:write']],
  [ADA, '/labs/x', ['resource:read'], REASON],
  [BOB, '/vault', ['resource:read']],
  [ADA, '/shared', ['namespace:read']],
]);

let dataDir: string;
let db: Database;
let folder: string;
let trail: AuditTrail;
let open: TestGateway;
const stored = { policy, bytes, labels: 'verified', statement: null, at: instantOf(Date.now()) } as const;

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  folder = await makeFolder();
  const how = { folder, queries: 'all', onFailure: 'refuse', lag: 10_000 } as const;
  trail = await openTrail({ ...how, db, clock: systemClock, nextId: makeIdSource(), log: SILENT });
  await storedSnapshots(db).put(stored);
  open = await openGateway({ db, audit: trail, mode: { kind: 'serve', policy } });
});

afterAll(async () => {
  await open.dispose();
  await trail.close();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

const asker = async (fields: Partial<NewKey> = {}): Promise<string> =>
  (await open.key({ actor: 'portal', identities: [], decide: true, ...fields })).text;

const ask = (key: string, items: readonly object[]): Promise<Reply> =>
  call(open.port, { path: '/api/v1/decide', key, body: { items } });

const read = (target: string, context?: string): object => ({
  kind: 'access',
  scope: 'resource:read',
  target,
  ...(context === undefined ? {} : { context }),
});
const about = (identity: unknown, request: object, more: object = {}): object => ({
  actor: { identities: [identity], ...more },
  request,
});

describe('POST /api/v1/decide', () => {
  it('answers for others under one policy and one instant, in the order of the questions', async () => {
    const { status, json } = await ask(await asker(), [
      about('orcid:ada', read('/labs/x')),
      about(BOB, read('/labs/x')),
      about('orcid:ada', { kind: 'create-namespace', namespace: '/labs/new' }),
      about('orcid:ada', { kind: 'copy', source: '/labs/x', destination: '/vault' }),
      about('orcid:ada', read('/labs', '/labs/x')),
      about('orcid:ada', read('/labs/../x')),
      about('orcid:ada', { kind: 'access', scope: 'resource:fly', target: '/labs' }),
      about('orcid:ada', read('/labs'), { credentialScopes: [] }),
      about('orcid:ada', read('/labs'), { namespaceRestrictions: ['/labs/x'] }),
    ]);
    expect(status).toBe(200);
    expect(json).toEqual({
      snapshot: policy.digest,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      results: [
        { decision: 'allow', grants: ['g1', 'g2'] },
        { decision: 'deny', step: 'no_matching_grant' },
        { decision: 'allow', grants: ['g1'] },
        { decision: 'deny', step: 'destination_write', cause: 'no_matching_grant' },
        { decision: 'allow', grants: ['g1'] },
        { decision: 'deny', step: 'canonicalize' },
        { decision: 'deny', step: 'unknown_scope' },
        { decision: 'deny', step: 'credential_scope' },
        { decision: 'deny', step: 'restriction' },
      ],
    });
  });

  it('says no to everything outside of the bounds of the key, and why is the same whoever is asked about', async () => {
    const key = await asker({ restrictions: [pathOf('/labs/x')], scopes: scopeSetOf(['resource:read']) });
    const questions = [
      read('/labs/x'),
      read('/labs', '/labs/x'),
      read('/vault'),
      { kind: 'access', scope: 'resource:write', target: '/labs/x' },
      { kind: 'create-namespace', namespace: '/labs/x/y' },
      { kind: 'copy', source: '/labs/x', destination: '/labs/x' },
    ];
    const results = async (identity: string): Promise<unknown> =>
      (
        await ask(
          key,
          questions.map((question) => about(identity, question)),
        )
      ).json?.['results'];
    const outside = [
      { decision: 'deny', step: 'restriction' },
      { decision: 'deny', step: 'restriction' },
      { decision: 'deny', step: 'credential_scope' },
      { decision: 'deny', step: 'credential_scope' },
      { decision: 'deny', step: 'destination_write', cause: 'credential_scope' },
    ];
    expect(await results('orcid:ada')).toEqual([{ decision: 'allow', grants: ['g1', 'g2'] }, ...outside]);
    expect(await results('orcid:nobody')).toEqual([{ decision: 'deny', step: 'no_matching_grant' }, ...outside]);
  });

  it('decides as the engine does wherever the key reaches, and never allows more', async () => {
    const places = ['/', '/labs', '/labs/x', '/labs/x/deep', '/vault', '/vault/in', 'no path', '/labs/'];
    const requests: readonly RawRequest[] = places.flatMap((target) => [
      ...SCOPES.map((scope) => ({ kind: 'access', scope, target, context: '/labs/x/deep' }) as const),
      ...SCOPES.map((scope) => ({ kind: 'access', scope, target, context: target }) as const),
      { kind: 'create-namespace', namespace: target } as const,
      ...places.map((destination) => ({ kind: 'copy', source: target, destination }) as const),
    ]);
    const subject = {
      kind: 'request',
      identities: [ADA, BOB],
      credentialScopes: ['resource:read', 'namespace:write', 'resource:write'],
      namespaceRestrictions: null,
    } as const satisfies RawActor;
    const { kind: _, ...actor } = subject;
    const items = requests.map((request) => ({ actor, request }));
    const answers = async (key: string): Promise<readonly Answer[]> =>
      (await ask(key, items)).json?.['results'] as readonly Answer[];
    const { at } = (await ask(await asker(), items.slice(0, 1))).json ?? {};
    const time = Date.parse(String(at));
    const whole = await answers(await asker());
    const narrow = await answers(
      await asker({ restrictions: [pathOf('/labs/x')], scopes: scopeSetOf(['resource:read']) }),
    );
    for (const [index, request] of requests.entries()) {
      const own = decideRaw(policy, { actor: subject, request, at: time as Parameters<typeof decideRaw>[1]['at'] });
      const expected = own.decision === 'allow' ? { ...own, grants: own.grants.map(({ id }) => id) } : own;
      expect([request, whole[index]]).toEqual([request, expected]);
      const isWithin =
        request.kind === 'access' && request.scope === 'resource:read' && /^\/labs\/x/.test(request.target);
      if (isWithin) expect([request, narrow[index]]).toEqual([request, expected]);
      else expect([request, narrow[index]?.decision]).toEqual([request, 'deny']);
    }
  });

  it.each([
    ['no question', { items: [] }, ['/items']],
    ['too many', { items: Array.from({ length: 1001 }, () => about('orcid:ada', read('/labs'))) }, ['/items']],
    [
      'a time of its own',
      { items: [{ ...about('orcid:ada', read('/')), at: '2027-01-01T00:00:00Z' }] },
      ['/items/0/at'],
    ],
    [
      'faults in several questions',
      {
        items: [
          about('nobody', read('/labs')),
          about('orcid:ada', read('/labs')),
          about('orcid:ada', { kind: 'see' }),
          { actor: 'local', request: read('/') },
          about('orcid:ada', read('/'), { credentialScopes: null }),
        ],
      },
      ['/items/0/actor/identities/0', '/items/2/request/kind', '/items/3/actor', '/items/4/actor/credentialScopes'],
    ],
  ])('refuses %s', async (_, body, places) => {
    const { status, json } = await call(open.port, { path: '/api/v1/decide', key: await asker(), body });
    const errors = json?.['errors'] as readonly { readonly pointer: string }[];
    expect([status, json?.['code'], errors.map(({ pointer }) => pointer)]).toEqual([400, 'request.schema', places]);
  });

  it('is for keys with the right to ask, and these do nothing else', async () => {
    const { text } = await open.key();
    const refused = await ask(text, [about('orcid:ada', read('/labs'))]);
    expect([refused.status, refused.json?.['code']]).toEqual([403, 'authz.asker']);
    const reads = await call(open.port, { key: await asker(), body: { family: 'resource', namespace: '/labs' } });
    expect([reads.status, reads.json?.['step']]).toEqual([403, 'no_matching_grant']);
  });
});

describe('explanations and lists', () => {
  const post = (path: string, key: string, body: object): Promise<Reply> => call(open.port, { path, key, body });
  const json = async (path: string, key: string, body: object): Promise<Readonly<Record<string, unknown>>> => {
    const { status, json } = await post(path, key, body);
    expect([status, json]).toEqual([200, expect.anything()]);
    return json ?? {};
  };

  it('POST /api/v1/explain says what each step found, and what would help to keys that may ask about everything', async () => {
    const items = [about('orcid:ada', read('/labs/x')), about('orcid:bob', read('/labs/x'))];
    const { results, snapshot } = await json('/api/v1/explain', await asker(), { items });
    expect(snapshot).toBe(policy.digest);
    expect(results).toMatchObject([
      { decision: 'allow', grants: [{ id: 'g1' }, { id: 'g2', reason: REASON }], edits: [] },
      { decision: 'deny', step: 'no_matching_grant', grants: [] },
    ]);
    const [, denied] = results as readonly { readonly edits: readonly object[] }[];
    expect(denied?.edits.length).toBeGreaterThan(0);
    const narrow = await asker({ restrictions: [pathOf('/labs')] });
    const bounded = await json('/api/v1/explain', narrow, { items: [...items, about('orcid:bob', read('/vault'))] });
    expect(bounded['results']).toMatchObject([
      { decision: 'allow', grants: [{ id: 'g1' }, { id: 'g2' }] },
      { decision: 'deny', step: 'no_matching_grant', edits: [], noEdit: expect.anything() },
      { decision: 'deny', step: 'restriction', steps: [{ step: 'restriction', passed: false }], grants: [] },
    ]);
    const copy = { items: [about('orcid:ada', { kind: 'copy', source: '/', destination: '/' })] };
    expect((await post('/api/v1/explain', narrow, copy)).json?.['errors']).toMatchObject([
      { pointer: '/items/0/request/kind' },
    ]);
  });

  it('POST /api/v1/who-can lists every holder once, in pages that belong to one asker and one instant', async () => {
    const key = await asker();
    const first = await json('/api/v1/who-can', key, {
      scope: 'resource:read',
      namespace: '/labs/x',
      page: { size: 0 },
    });
    expect(first).toMatchObject({ identities: [], count: 1, page: { size: 0, next: null } });
    const whole = await json('/api/v1/who-can', key, { scope: 'resource:read', namespace: '/labs/x' });
    expect(whole).toMatchObject({
      scope: 'resource:read',
      namespace: '/labs/x',
      snapshot: policy.digest,
      count: 1,
      identities: [{ identity: 'orcid:ada', grants: [{ id: 'g1' }, { id: 'g2', reason: REASON }] }],
    });
    const narrow = await asker({ restrictions: [pathOf('/vault')] });
    expect(await json('/api/v1/who-can', narrow, { scope: 'resource:read', namespace: '/labs/x' })).toMatchObject({
      identities: [],
      count: 0,
    });
    const asked = { identity: 'orcid:ada', page: { size: 1 } };
    const page = await json('/api/v1/what-can', key, asked);
    const { next } = page['page'] as { readonly next: string };
    expect([page['count'], page['access']]).toMatchObject([2, [{ namespace: '/labs' }]]);
    const second = await json('/api/v1/what-can', key, { ...asked, page: { size: 1, after: next } });
    expect(second).toMatchObject({
      at: page['at'],
      count: 2,
      access: [{ namespace: '/shared' }],
      page: { next: null },
    });
    for (const [other, body] of [
      [await asker({ actor: 'other' }), { ...asked, page: { after: next } }],
      [key, { identity: 'orcid:bob', page: { after: next } }],
      [key, { ...asked, page: { after: next.replace(/^(\d+)\.1/, '$1.0') } }],
      [key, { ...asked, page: { after: '' } }],
    ] as const) {
      const { status, json } = await post('/api/v1/what-can', other, body);
      expect([status, json?.['code']]).toEqual([400, 'query.cursor']);
    }
  });

  it('have page tokens that are good for 15 minutes, and pages of up to 500', async () => {
    let now = instantOf(Date.now());
    const own = await openGateway({ db, mode: { kind: 'serve', policy }, clock: { now: () => now } });
    const key = await asker();
    const visible = { actor: { identities: ['orcid:ada'] }, family: 'resource', namespace: '/', reach: 'subtree' };
    const lists = [
      ['/api/v1/who-can', { scope: 'namespace:read', namespace: '/shared' }],
      ['/api/v1/what-can', { identity: 'orcid:ada' }],
      ['/api/v1/visible', visible],
    ] as const;
    for (const [path, body] of lists) {
      const sized = async (size: number): Promise<number> =>
        (await call(own.port, { path, key, body: { ...body, page: { size } } })).status;
      expect([path, await sized(-1), await sized(0), await sized(500), await sized(501)]).toEqual([
        ...[path, 400, 200, 200, 400],
      ]);
    }
    const asked = { identity: 'orcid:ada', page: { size: 1 } };
    const first = (await call(own.port, { path: '/api/v1/what-can', key, body: asked })).json;
    const { next } = first?.['page'] as { readonly next: string };
    const codeAfter = async (milliseconds: number): Promise<unknown> => {
      const began = now;
      now = instantOf(began + milliseconds);
      const { json } = await call(own.port, {
        path: '/api/v1/what-can',
        key,
        body: { ...asked, page: { size: 1, after: next } },
      });
      now = began;
      return json?.['code'] ?? json?.['at'];
    };
    expect([await codeAfter(900_000), await codeAfter(900_001)]).toEqual([first?.['at'], 'query.cursor']);
    await own.dispose();
  });

  it('are refused for now where the store has lost the snapshot, and decisions go on', async () => {
    const own = await openGateway({ db, mode: { kind: 'serve', policy } });
    const key = await asker();
    const decided = { items: [about('orcid:ada', read('/labs'))] };
    await db.knex.raw('DELETE FROM snapshots WHERE snapshot = ?', [policy.digest]);
    for (const [path, body] of [
      ['/api/v1/who-can', { scope: 'resource:read', namespace: '/labs' }],
      ['/api/v1/what-can', { identity: 'orcid:ada' }],
      ['/api/v1/explain', decided],
    ] as const) {
      const { status, json, headers } = await call(own.port, { path, key, body });
      expect([path, status, json?.['code'], headers['retry-after']]).toEqual([path, 503, 'proof.unavailable', '1']);
    }
    expect((await call(own.port, { path: '/api/v1/decide', key, body: decided })).status).toBe(200);
    await storedSnapshots(db).put(stored);
    expect((await call(own.port, { path: '/api/v1/explain', key, body: decided })).status).toBe(200);
    await own.dispose();
  });

  it('POST /api/v1/what-can and /visible show what lies within the bounds of the key, and nothing else', async () => {
    const narrow = await asker({
      restrictions: [pathOf('/labs/x/deep'), pathOf('/vault')],
      scopes: scopeSetOf(['resource:read']),
    });
    expect(await json('/api/v1/what-can', narrow, { identity: ADA })).toMatchObject({
      count: 1,
      access: [{ namespace: '/labs/x/deep', extent: 'subtree', scopes: ['resource:read'] }],
    });
    expect(await json('/api/v1/what-can', narrow, { identity: 'orcid:bob' })).toMatchObject({
      access: [{ namespace: '/vault', extent: 'subtree', scopes: ['resource:read'] }],
    });
    const sees = (key: string, family: string): Promise<object> =>
      json('/api/v1/visible', key, { actor: { identities: ['orcid:ada'] }, family, namespace: '/', reach: 'subtree' });
    expect(await sees(await asker(), 'resource')).toMatchObject({
      kind: 'some',
      exact: [],
      subtrees: ['/labs'],
      count: 1,
    });
    expect(await sees(narrow, 'resource')).toMatchObject({ kind: 'some', subtrees: ['/labs/x/deep'], count: 1 });
    expect(await sees(narrow, 'namespace')).toMatchObject({ kind: 'none', step: 'credential_scope', count: 0 });
  });
});

interface Answer {
  readonly decision: 'allow' | 'deny';
}

describe('the audit log', () => {
  it('has one event for each answer, with asker and subject, and a replay makes each again', async () => {
    const key = await asker({
      actor: 'events',
      scopes: scopeSetOf(['resource:read', 'namespace:write']),
      restrictions: [pathOf('/labs')],
    });
    await ask(key, [
      about('orcid:ada', read('/labs/x')),
      about('orcid:bob', read('/vault')),
      about('orcid:bob', read('/labs/x'), {
        credentialScopes: ['resource:read'],
        namespaceRestrictions: ['labs', '?'],
      }),
      about('orcid:ada', { kind: 'create-namespace', namespace: '/labs/new' }),
      about('orcid:ada', { kind: 'copy', source: '/labs', destination: '/labs' }),
      about(`orcid:${key}`, read('/labs/x')),
    ]);
    const asked = { actor: { identities: ['orcid:ada', 'orcid:bob'] }, namespace: '/', reach: 'subtree' };
    for (const family of ['resource', 'process-template'])
      await call(open.port, { path: '/api/v1/visible', key, body: { ...asked, family } });
    await call(open.port, { path: '/api/v1/who-can', key, body: { scope: 'resource:read', namespace: '/labs' } });
    await call(open.port, { path: '/api/v1/what-can', key, body: { identity: 'orcid:ada' } });
    await trail.close();
    await keepSnapshot(folder, policy.digest, bytes);
    const lines = readLines(folder).filter((line) => line.includes('"events"') && line.includes('"query"'));
    expect(lines.join('')).not.toContain(key);
    const events = lines.map((line) => readStored(line));
    expect(events.map((event) => [event?.kind, event?.outcome, event?.step, event?.subject?.identities])).toEqual([
      ['query', 'allowed', undefined, ['orcid:ada']],
      ['query', 'denied', 'restriction', ['orcid:bob']],
      ['query', 'denied', 'canonicalize', ['orcid:bob']],
      ['query', 'allowed', undefined, ['orcid:ada']],
      ['query', 'denied', 'destination_write', ['orcid:ada']],
      ['query', 'denied', 'no_matching_grant', ['orcid:[credential]']],
      ['query', 'allowed', undefined, ['orcid:ada', 'orcid:bob']],
      ['query', 'denied', 'credential_scope', ['orcid:ada', 'orcid:bob']],
      ['query', 'allowed', undefined, undefined],
      ['query', 'allowed', undefined, ['orcid:ada']],
    ]);
    expect(events[0]).toMatchObject({
      actor: { id: 'events', kind: 'key', identities: [], namespaceRestrictions: ['/labs'] },
      access: { scope: 'resource:read', context: '/labs/x', target: '/labs/x' },
      grants: ['g1', 'g2'],
      snapshot: policy.digest,
      operation: 'decide',
    });
    const replay = makeReplay(folder, null);
    for (const event of events) {
      if (event === null) throw new Error('a line that is no event');
      // Nothing was decided where a part of the question is no path, and lists of holders and regions are not kept.
      const isDecided = event.access !== null && event.operation !== 'who-can';
      expect([event.operation, event.step, isReproduced(await replay(event))]).toEqual([
        ...[event.operation, event.step, isDecided],
      ]);
    }
  });
});
