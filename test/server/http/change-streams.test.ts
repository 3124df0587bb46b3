// The feed as a stream of events, over real connections: what comes, how it goes on, and everything that ends it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_SCOPES, FAMILIES, instantOf, resolveActor } from '../../../engine/index.js';
import { revokeKey } from '../../../server/auth/api-keys.js';
import { viewOf } from '../../../server/changes/view.js';
import { STREAM_LIMITS } from '../../../server/limits/changes.js';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import {
  call,
  callAdmin,
  openGateway,
  openSocket,
  policyOf,
  readToEnd,
  type TestGateway,
} from '../../support/gateway.js';
import { stopCpu } from '../../support/cpu-time.js';
import { type OpenedStore, testStores } from '../../support/stores.js';
import { until } from '../../support/until.js';
import { type EventStreamClient, openStream, type StreamEvent } from '../../support/event-stream.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const WES = { provider: 'orcid', subject: 'wes' };
const WRITES = [WES, '/', ['resource:write', 'namespace:write', 'resource:read', 'namespace:read']] as const;
const SEES_A = policyOf([[ADA, '/a', ['resource:read']], WRITES]);
const SEES_B = policyOf([[ADA, '/b', ['resource:read']], WRITES]);
const SEES_NOTHING = policyOf([WRITES]);

let keys = 0;
const ROWS = 20_000;

describe('a stream of changes', () => {
  let store: OpenedStore | undefined;
  let open: TestGateway;
  let wes: string;
  let ada: string;
  beforeAll(async () => {
    store = await testStores()[0]?.open();
    open = await openGateway({
      mode: { kind: 'serve', policy: SEES_A },
      admin: true,
      timeouts: { ...HTTP_LIMITS, writeTimeout: 4_000 },
      ...(store === undefined ? {} : { db: store.database }),
    });
    wes = (await open.key({ actor: 'wes', identities: [WES] })).text;
    ada = (await open.key()).text;
    for (const path of ['/a', '/b'])
      await call(open.port, { method: 'PUT', path: `/api/v1/namespaces${path}`, key: wes, body: {} });
  });
  afterAll(async () => {
    await open.dispose();
    await store?.dispose();
  });

  const write = async (namespace: string, name: string): Promise<string> => {
    keys += 1;
    const { status, json } = await call(open.port, {
      path: '/api/v1/resources',
      key: wes,
      headers: { 'idempotency-key': `k${String(keys)}` },
      body: { namespace, name },
    });
    expect(status).toBe(201);
    return String(json?.['id']);
  };
  const serve = (policy: typeof SEES_A): void => {
    open.gateway.policies.activate({ policy }, 'test');
  };
  const ids = (events: readonly StreamEvent[]): unknown[] => events.map(({ data }) => data?.['id']);
  const problemOf = (stream: EventStreamClient): unknown =>
    stream.events().find(({ event }) => event === 'problem')?.data?.['code'];

  it('gives what happens as it happens, and nothing of the invisible, not even a byte', async () => {
    const stream = await openStream(open.port, { key: ada });
    expect(stream).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' },
    });
    const id = await write('/a', 'seen');
    await stream.until((events) => events.length === 1);
    expect(stream.events()).toMatchObject([
      { event: 'message', data: { change: 'created', family: 'resource', id, namespace: '/a', revision: 1 } },
    ]);
    expect(stream.events()[0]?.id).toBe(stream.events()[0]?.data?.['cursor']);
    const before = stream.text();
    await write('/b', 'unseen');
    await sleep(1_500);
    expect(stream.text()).toBe(before);
    stream.close();
  });

  it('goes on from Last-Event-ID without a gap and without a repetition, whatever `after` says', async () => {
    const first = await openStream(open.port, { key: ada });
    const one = await write('/a', 'one');
    await first.until((events) => events.length === 1);
    const last = first.lastId();
    first.close();
    const [two, three] = [await write('/a', 'two'), await write('/a', 'three')];
    const { json } = await call(open.port, { method: 'GET', path: '/api/v1/changes', key: ada });
    const again = await openStream(open.port, {
      key: ada,
      path: `/api/v1/changes?after=${String(json?.['next'])}`,
      headers: { 'last-event-id': last },
    });
    await again.until((events) => events.length === 2);
    expect([one, ...ids(again.events())]).toEqual([one, two, three]);
    again.close();
    const page = await call(open.port, { method: 'GET', path: `/api/v1/changes?after=${last}`, key: ada });
    expect((page.json?.['items'] as { id: string }[]).map(({ id }) => id)).toEqual([two, three]);
  });

  it('is JSON for whoever does not ask for events, and a problem before it begins is an answer like any other', async () => {
    for (const accept of ['*/*', 'application/json', 'text/event-stream;q=0', 'text/*']) {
      const { status, headers } = await call(open.port, {
        method: 'GET',
        path: '/api/v1/changes',
        key: ada,
        headers: { accept },
      });
      expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    }
    // A HEAD has no body that could stay open.
    const asked = { method: 'HEAD', path: '/api/v1/changes', key: ada, headers: { accept: 'text/event-stream' } };
    const head = await call(open.port, asked);
    expect([head.status, head.headers['content-type'], head.text]).toEqual([200, 'application/json', '']);
    const refused = await openStream(open.port, { key: ada, path: `/api/v1/changes?after=x` });
    await refused.ended;
    expect([refused.status, JSON.parse(refused.text())]).toMatchObject([400, { code: 'query.cursor' }]);
    const unknown = await openStream(open.port, {});
    await unknown.ended;
    expect(unknown.status).toBe(401);
  });

  it('says what a policy that is replaced gives and takes, in one event, and ends for whoever sees nothing any more', async () => {
    const stream = await openStream(open.port, { key: ada });
    try {
      await stream.until((events) => events.length === 0);
      serve(SEES_B);
      await stream.until((events) => events.length === 1);
      expect(stream.events()).toMatchObject([
        {
          data: {
            change: 'rights',
            gained: [{ namespace: '/b', extent: 'subtree', scopes: ['resource:read'] }],
            lost: [{ namespace: '/a', extent: 'subtree', scopes: ['resource:read'] }],
          },
        },
      ]);
      await write('/a', 'not any more');
      const id = await write('/b', 'now');
      await stream.until((events) => events.length === 2);
      expect(ids(stream.events())[1]).toBe(id);
      serve(SEES_NOTHING);
      await stream.ended;
      expect(stream.events()).toMatchObject([
        {},
        {},
        { data: { change: 'rights', gained: [], lost: [{ namespace: '/b' }] } },
      ]);
      const after = stream.lastId();
      const denied = await call(open.port, { method: 'GET', path: `/api/v1/changes?after=${after}`, key: ada });
      expect([denied.status, denied.json?.['step']]).toEqual([403, 'no_matching_grant']);
    } finally {
      serve(SEES_A);
      stream.close();
    }
  });

  it('says so when a grant ends and another begins, though what it may see is remembered', async () => {
    const turn = instantOf(Date.now() + 4_000);
    const read = ['resource:read'];
    serve(policyOf([[ADA, '/a', read, null, { expires: turn }], [ADA, '/b', read, null, { notBefore: turn }], WRITES]));
    const stream = await openStream(open.port, { key: ada });
    try {
      await stream.until((events) => events.length === 1);
      const [event] = stream.events();
      expect(event?.data).toMatchObject({ gained: [{ namespace: '/b' }], lost: [{ namespace: '/a' }] });
      expect(Date.parse(String(event?.data?.['time']))).toBeGreaterThanOrEqual(turn);
    } finally {
      serve(SEES_A);
      stream.close();
    }
  });

  it('costs next to nothing while nothing happens, however much its reader may see', async () => {
    const scopes = FAMILIES.map((family) => `${family}:read`);
    const many = Array.from({ length: 10_000 }, (_, index) => [ADA, `/a/n${String(index)}`, scopes] as const);
    const policy = policyOf([...many, WRITES]);
    serve(policy);
    const streams = await Promise.all(
      Array.from({ length: STREAM_LIMITS.perActor }, () => openStream(open.port, { key: ada })),
    );
    try {
      const credential = { credentialScopes: ALL_SCOPES, namespaceRestrictions: null };
      const actor = resolveActor(policy, { kind: 'key', identities: [ADA], ...credential });
      const looking = stopCpu();
      for (let time = 0; time < 4; time += 1) viewOf(actor, instantOf(Date.now()));
      const four = looking();
      // Each looks three times at least. At first they read, and some time each of them shows that it lives.
      await until(async () => {
        const idling = stopCpu();
        await sleep(4_000);
        return idling() < (3 * streams.length * four) / 4 / 2;
      });
    } finally {
      serve(SEES_A);
      for (const stream of streams) stream.close();
    }
  });

  it('ends with the key that is revoked or expires', async () => {
    const revoked = await open.key();
    const expiring = await open.key({ expires: instantOf(Date.now() + 4_000) });
    const [one, other] = await Promise.all([revoked, expiring].map(({ text }) => openStream(open.port, { key: text })));
    await revokeKey(open.db, { id: revoked.id, now: instantOf(Date.now()) });
    await one?.ended;
    await other?.ended;
    expect([one, other].map((stream) => (stream === undefined ? null : problemOf(stream)))).toEqual([
      'auth.invalid',
      'auth.invalid',
    ]);
  });

  it('has a number of places for each actor, and gives a place back', async () => {
    const streams = await Promise.all(
      Array.from({ length: STREAM_LIMITS.perActor }, () => openStream(open.port, { key: ada })),
    );
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
    const refused = await openStream(open.port, { key: ada });
    await refused.ended;
    expect([refused.status, JSON.parse(refused.text())]).toMatchObject([429, { code: 'limit.rate' }]);
    expect(refused.headers['retry-after']).toBeDefined();
    // Others have their own, and answers that end are not streams.
    const others = await openStream(open.port, { key: wes });
    expect(others.status).toBe(200);
    expect((await call(open.port, { method: 'GET', path: '/api/v1/changes', key: ada })).status).toBe(200);
    streams[0]?.close();
    for (let status = 0; status !== 200;) {
      const next = await openStream(open.port, { key: ada });
      ({ status } = next);
      next.close();
      await sleep(50);
    }
    for (const stream of [...streams, others]) stream.close();
  });

  it('is cut for whoever does not read, and held for whoever does; it shows that it lives, and moves the place to go on at', async () => {
    // Sees nothing of what happens.
    const living = await openStream(open.port, { key: ada });
    await living.until(() => living.lastId() !== '');
    const began = living.lastId();
    const { json } = await call(open.port, { method: 'GET', path: '/api/v1/changes', key: wes });
    // More than the system buffers for a connection.
    for (let rows = 0; rows < ROWS; rows += 1_000) {
      await open.db.knex.raw(
        `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by)
         SELECT gen_random_uuid(), 2, '/b/', 'n', '{}', 1, now(), now(), 'test' FROM generate_series(1, 1000)`,
      );
    }
    const path = `/api/v1/changes?limit=500&after=${String(json?.['next'])}`;
    const idle = await openSocket(open.port);
    idle.pause();
    idle.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${wes}\r\n\r\n`);
    const reading = await openStream(open.port, { key: wes, path });
    const seen = (): number => reading.text().split('"change":"created"').length - 1;
    while (seen() < ROWS) await sleep(100);
    expect(new Set(reading.events().map(({ data }) => data?.['id'])).size).toBe(ROWS);
    reading.close();
    // In each write timeout a client has to read something.
    const slow = 'bailiwick_http_connections_cut_total{reason="slow"} 1\n';
    while (!(await callAdmin(open.admin?.port ?? 0, { path: '/metrics' })).text.includes(slow)) await sleep(100);
    const got = await readToEnd(idle.resume());
    expect(got.split('"change":"created"').length).toBeLessThan(ROWS);
    expect(got).not.toContain('event: problem');
    await living.until(() => living.lastId() !== began, 300_000);
    expect(living.events()).toEqual([]);
    living.close();
  });

  it('shows that it lives within 15 seconds, though that is looked at only now and then', () => {
    const { heartbeat, check, distance } = STREAM_LIMITS;
    expect(heartbeat + check + distance).toBeLessThan(14_500);
  });

  it('ends when the gateway does, and says so', async () => {
    const own = await openGateway({ mode: { kind: 'serve', policy: SEES_A } });
    const { text } = await own.key();
    const stream = await openStream(own.port, { key: text });
    const began = performance.now();
    const closed = own.gateway.close();
    await stream.ended;
    await closed;
    expect(problemOf(stream)).toBe('shutting_down');
    expect(stream.text()).toContain('retry: 1000\n');
    expect(performance.now() - began).toBeLessThan(8_000);
    await own.dispose();
  });
});
