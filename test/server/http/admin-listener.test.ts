// Where admins come in: a listener on loopback and a Unix socket, with health, status and keys.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { existsSync, mkdtempSync, readlinkSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instantOf } from '../../../engine/index.js';
import { listen, makeServices } from '../../../server/compose.js';
import type { Database } from '../../../server/db/database.js';
import { StoreError } from '../../../server/db/failures.js';
import { noPage } from '../../../server/http/host-guard.js';
import { bindSocket, bindTcp } from '../../../server/http/http-server.js';
import { call, callAdmin, openGateway, raw, type Reply, type TestGateway } from '../../support/gateway.js';
import { until } from '../../support/until.js';

let open: TestGateway;
let port: number;
let socket: string;
let admin: string;
let data: string;

beforeAll(async () => {
  open = await openGateway({ admin: true });
  port = open.admin?.port ?? 0;
  socket = open.admin?.socket ?? '';
  admin = (await open.key({ actor: 'root', identities: [], admin: true })).text;
  data = (await open.key()).text;
});

afterAll(async () => {
  await open.dispose();
});

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
/** The checks of /readyz. */
const ALL_OK = { listener: 'ok', certificate: 'ok', policy: 'ok', store: 'ok', outbox: 'ok', audit: 'ok' };
const KEYS = { path: '/admin/v1/keys' };
const NEW = { ...KEYS, method: 'POST', body: { actor: 'ana', identities: ['orcid:ana'] } };

function outcome({ status, json }: Reply): string {
  const code = json?.['code'];
  return typeof code === 'string' ? `${String(status)} ${code}` : String(status);
}

describe('health', () => {
  test.each(['/livez', '/readyz'])('%s says ok to everybody, and nothing about this installation', async (path) => {
    const reply = await callAdmin(port, { path });
    expect(outcome(reply)).toBe('200');
    expect(reply.json?.['status']).toBe('ok');
    expect(reply.text).not.toMatch(/sha256|version|postgres|embedded|test/);
  });

  test.each([
    ['without a Host', 'GET /readyz HTTP/1.0\r\n\r\n'],
    ['under another name', 'GET /readyz HTTP/1.1\r\nHost: balancer.example:99\r\nConnection: close\r\n\r\n'],
    ['with HEAD', 'HEAD /readyz HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['with HEAD and HTTP/1.0', 'HEAD /livez HTTP/1.0\r\n\r\n'],
  ])('answers balancers that ask %s, on both listeners', async (_, asked) => {
    for (const [at, details] of [
      [port, true],
      [open.port, false],
    ] as const) {
      const [head = '', body = ''] = (await raw(at, asked)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      if (asked.startsWith('HEAD')) expect(body).toBe('');
      else expect([body.includes('"store":"ok"'), body.includes('"status":"ok"')]).toEqual([details, true]);
    }
  });

  it('is not ready without its store, says so in words of its own, and still lives', async () => {
    const broken = { ...open.db, ping: () => Promise.reject(new Error('canary')) };
    const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
    const options = { mode: { kind: 'local' }, rate, concurrency: { perActor: 4 }, log: silent } as const;
    const services = await makeServices({ ...options, db: broken });
    const at = await bindTcp({ host: '127.0.0.1', port: 0 });
    const listener = await listen(services, { routes: services.adminRoutes, manner: { guard: noPage }, at });
    const ready = await callAdmin(at.at.port, { path: '/readyz' });
    expect([ready.status, ready.json]).toEqual([503, { status: 'failed', checks: { ...ALL_OK, store: 'failed' } }]);
    expect(outcome(await callAdmin(at.at.port, { path: '/livez' }))).toBe('200');
    await listener.close();
    await services.close();
  });

  it('is not ready once the certificate of the API has expired, and tells when that of the client CA does', async () => {
    const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
    let now = instantOf(0);
    const services = await makeServices({
      ...{ mode: { kind: 'local' }, rate, concurrency: { perActor: 4 }, log: silent, db: open.db },
      clock: { now: () => now },
      certificates: {
        expires: () => instantOf(1000),
        clientCaExpires: () => instantOf(500),
        fault: () => (now < 1000 ? null : 'expired at noon'),
      },
    });
    const at = await bindTcp({ host: '127.0.0.1', port: 0 });
    const listener = await listen(services, {
      routes: services.adminRoutes,
      manner: { guard: noPage, showsStatus: true },
      at,
    });
    const ready = async (): Promise<unknown> => (await callAdmin(at.at.port, { path: '/readyz' })).json;
    expect(await ready()).toEqual({ status: 'ok', checks: ALL_OK });
    now = instantOf(1000);
    const checks = { ...ALL_OK, certificate: 'failed' };
    expect(await ready()).toEqual({ status: 'failed', checks });
    const expires = '1970-01-01T00:00:01.000Z';
    const certificate = { expiresAt: expires, clientCaExpiresAt: '1970-01-01T00:00:00.500Z', fault: 'expired at noon' };
    expect((await callAdmin(at.at.port)).json).toMatchObject({ ready: false, checks, certificate, tls: { expires } });
    const { text } = await callAdmin(at.at.port, { path: '/metrics' });
    expect(text).toContain('bailiwick_tls_certificate_expires_timestamp_seconds{of="api"} 1\n');
    expect(text).toContain('bailiwick_tls_certificate_expires_timestamp_seconds{of="client_ca"} 0.5\n');
    await listener.close();
    await services.close();
  });
});

describe('status', () => {
  it('shows what runs here to everybody on this machine', async () => {
    const reply = await callAdmin(port);
    expect(reply.json).toMatchObject({
      ready: true,
      policy: 'test',
      snapshot: open.gateway.policies.current().policy.digest,
      labels: 'verified',
      generation: 1,
      source: { kind: 'memory' },
      issuedAt: null,
      stale: 'no',
      store: { kind: 'embedded', ok: true },
      lastError: null,
      shadow: null,
      peers: [],
    });
  });

  test.each([
    ['a data key', () => data, '401 auth.invalid'],
    ['what is no key', () => 'x', '401 auth.invalid'],
    ['an admin key', () => admin, '200'],
  ])('holds whoever shows a credential to it: %s', async (_, key, expected) => {
    expect(outcome(await callAdmin(port, { key: key() }))).toBe(expected);
  });
});

describe('the guard of hosts', () => {
  const at = (host: string, headers = {}): Promise<Reply> => callAdmin(port, { headers: { host, ...headers } });

  it('serves the loopback names with the port alone', async () => {
    const names = [`localhost:${String(port)}`, `127.0.0.1:${String(port)}`, `[::1]:${String(port)}`];
    for (const name of names) expect(outcome(await at(name))).toBe('200');
    const others = ['attacker.example', 'localhost', `localhost.:${String(port)}`, `a.localhost:${String(port)}`];
    for (const name of others) expect(outcome(await at(name))).toBe('421 request.host');
  });

  it('refuses a web page of elsewhere, with an admin key too, and through the socket every page', async () => {
    const origin = { origin: 'https://evil.example' };
    const host = `localhost:${String(port)}`;
    expect(outcome(await at(host, { ...origin, authorization: `Bearer ${admin}` }))).toBe('421 request.host');
    expect(outcome(await at(host, { origin: `http://${host}` }))).toBe('200');
    expect(outcome(await callAdmin(socket, { headers: { host: 'localhost', origin: 'http://localhost' } }))).toBe(
      '421 request.host',
    );
  });
});

describe('keys', () => {
  test.each([
    ['nobody', undefined, '401 auth.required'],
    ['a data key', () => data, '401 auth.invalid'],
    ['an admin key', () => admin, '201'],
  ])('are made for an admin: %s', async (_, key, expected) => {
    const own = key === undefined ? {} : { key: key() };
    expect(outcome(await callAdmin(port, { ...NEW, ...own }))).toBe(expected);
    expect(outcome(await callAdmin(port, { ...KEYS, ...own }))).toBe(expected.replace('201', '200'));
  });

  it('work at once, are listed without secret with the fingerprint of whoami, and end at once', async () => {
    const made = await callAdmin(socket, {
      ...NEW,
      body: {
        actor: 'ana',
        identities: [{ provider: 'orcid', subject: 'a:b' }, 'github:Ana'],
        scopes: ['resource:read'],
        restrictions: ['labs/optics/'],
        expires: '2999-01-01T00:00:00+01:00',
      },
    });
    expect(made.json).toMatchObject({
      identities: ['github:Ana', 'orcid:a:b'],
      scopes: ['resource:read'],
      restrictions: ['/labs/optics'],
      expires: '2998-12-31T23:00:00.000Z',
      status: 'active',
    });
    const { id, key } = made.json as { readonly id: string; readonly key: string };
    const whoami = await call(open.port, { method: 'GET', path: '/api/v1/whoami', key });
    const listed = await callAdmin(socket, KEYS);
    const { keys } = listed.json as { readonly keys: readonly Readonly<Record<string, unknown>>[] };
    const shown = keys.find((one) => one['id'] === id);
    expect(shown?.['fingerprint']).toBe(whoami.json?.['credentialFingerprint']);
    expect(listed.text).not.toContain(key.slice(-43));

    const revoked = await callAdmin(socket, { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
    expect(revoked.json).toMatchObject({ id, revokedAt: expect.any(String) });
    expect(outcome(await call(open.port, { method: 'GET', path: '/api/v1/whoami', key }))).toBe('401 auth.invalid');
    const again = await callAdmin(socket, { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
    expect(again.json?.['revokedAt']).toBe(revoked.json?.['revokedAt']);
  });

  test.each<[string, object, readonly string[]]>([
    ['no actor', { identities: ['orcid:a'] }, ['/actor']],
    ['no identity', { actor: 'a' }, ['/identities']],
    ['an identity without a provider', { actor: 'a', identities: ['a'] }, ['/identities/0']],
    [
      'a provider that is no name',
      { actor: 'a', identities: [{ provider: 'a:b', subject: 'c' }] },
      ['/identities/0/provider'],
    ],
    ['a text that is no scope', { actor: 'a', identities: ['o:a'], scopes: ['resource:*'] }, ['/scopes/0']],
    ['a path that is none', { actor: 'a', identities: ['o:a'], restrictions: ['/a', '/A'] }, ['/restrictions/1']],
    ['a time that has passed', { actor: 'a', identities: ['o:a'], expires: '2020-01-01T00:00:00Z' }, ['/expires']],
    ['an admin key with scopes', { actor: 'a', admin: true, scopes: [] }, ['/admin']],
    ['what is not known', { actor: 'a', identities: ['o:a'], secret: 'x' }, ['/secret']],
    ['several faults', { actor: '', identities: ['x'], expires: 'soon' }, ['/actor']],
    [
      'several faults of meaning',
      { actor: ' a', identities: ['x'], expires: 'soon' },
      ['/actor', '/identities/0', '/expires'],
    ],
  ])('are refused with every fault at its place: %s', async (_, body, pointers) => {
    const before = (await open.db.knex('api_keys').count())[0];
    const reply = await callAdmin(socket, { ...NEW, body });
    expect(outcome(reply)).toBe('400 request.schema');
    const { errors } = reply.json as { readonly errors: readonly { readonly pointer: string }[] };
    expect(errors.map(({ pointer }) => pointer)).toEqual(pointers);
    expect((await open.db.knex('api_keys').count())[0]).toEqual(before);
  });

  test.each(['0000000000000000', 'x', 'bwk_x', '..', '%2e%2e'])('that are none are not found: %s', async (id) => {
    const reply = await callAdmin(socket, { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
    expect(outcome(reply)).toBe('404 key.not_found');
  });

  it('are recorded in the transaction that makes or ends them, with who did it', async () => {
    const { json } = await callAdmin(port, { ...NEW, key: admin });
    const id = String(json?.['id']);
    await callAdmin(socket, { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
    const rows: readonly { readonly event: unknown }[] = await open.db.knex('audit_outbox').select('event');
    const events = rows.map(({ event }) => (typeof event === 'string' ? (JSON.parse(event) as object) : event));
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          operation: 'key.create',
          key: id,
          actor: expect.objectContaining({ id: 'root', kind: 'admin' }),
        }),
        expect.objectContaining({
          operation: 'key.revoke',
          key: id,
          actor: expect.objectContaining({ id: 'socket', kind: 'operator' }),
        }),
      ]),
    );
    expect(JSON.stringify(events)).not.toContain(admin);
  });
});

describe('an admin key', () => {
  it('opens nothing once it has expired or was revoked', async () => {
    const expired = await open.key({ actor: 'old', identities: [], admin: true, expires: instantOf(Date.now() - 1) });
    expect(outcome(await callAdmin(port, { ...KEYS, key: expired.text }))).toBe('401 auth.invalid');
    const { text, id } = await open.key({ actor: 'gone', identities: [], admin: true });
    expect(outcome(await callAdmin(port, { ...KEYS, key: text }))).toBe('200');
    await callAdmin(socket, { method: 'POST', path: `/admin/v1/keys/${id}/revoke` });
    expect(outcome(await callAdmin(port, { ...KEYS, key: text }))).toBe('401 auth.invalid');
  });

  it('must be right where it is shown through the socket, which needs none', async () => {
    expect(outcome(await callAdmin(socket, { ...KEYS, key: data }))).toBe('401 auth.invalid');
    expect(outcome(await callAdmin(socket, { ...KEYS, key: admin }))).toBe('200');
  });
});

describe('a listener that other machines reach', () => {
  it('shows status to admins alone, and health to everybody', async () => {
    const rate = { perActor: 0, perAddress: 0, unauthenticated: 0 };
    const bound = await bindTcp({ host: '0.0.0.0', port: 0 });
    const gateway = await openGateway({ db: open.db, tcpForAdmins: bound, rate });
    const to = bound.at.port;
    expect(outcome(await callAdmin(to))).toBe('401 auth.required');
    expect(outcome(await callAdmin(to, { key: admin }))).toBe('200');
    expect(outcome(await callAdmin(to, { path: '/readyz', headers: { host: 'gateway.example.org' } }))).toBe('200');
    const page = { origin: 'https://gateway.example.org' };
    expect(outcome(await callAdmin(to, { key: admin, headers: page }))).toBe('421 request.host');
    await gateway.dispose();
  });

  it('shows monitoring what is wrong while the store is away, and admins nothing', async () => {
    let isAway = false;
    const unlessAway = <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
      isAway ? Promise.reject(new StoreError('store.unreachable', 'away')) : ask();
    const vital: Database['vital'] = (...parameters) => unlessAway(() => open.db.vital(...parameters));
    const ping = (): Promise<void> => unlessAway(() => open.db.ping());
    const bound = await bindTcp({ host: '0.0.0.0', port: 0 });
    const gateway = await openGateway({ db: { ...open.db, vital, ping }, tcpForAdmins: bound });
    const to = bound.at.port;
    const { text: monitor } = await gateway.key({ identities: [], monitor: true });
    for (const key of [monitor, admin]) expect(outcome(await callAdmin(to, { path: '/metrics', key }))).toBe('200');
    isAway = true;
    await until(async () => outcome(await callAdmin(to, { path: '/metrics', key: admin })) === '503 db.unavailable');
    const ready = /^bailiwick_ready\{check="store"\} 0$/m;
    await until(async () => ready.test((await callAdmin(to, { path: '/metrics', key: monitor })).text));
    expect((await callAdmin(to, { key: monitor })).json).toMatchObject({ ready: false, store: { ok: false } });
    await gateway.dispose();
  });
});

describe('the Unix socket', () => {
  it('is for this user alone, and goes with the gateway', async () => {
    const own = await openGateway({ db: open.db, admin: true });
    const path = own.admin?.socket ?? '';
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await own.dispose();
    expect(existsSync(path)).toBe(false);
  });

  it('of another gateway is not taken, nor what a link leads to', async () => {
    await expect(bindSocket(socket)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect(outcome(await callAdmin(socket, KEYS))).toBe('200');
    const folder = mkdtempSync(join(tmpdir(), 'bailiwick-links-'));
    const [link, dangling] = [join(folder, 'admin.sock'), join(folder, 'dangling.sock')];
    symlinkSync(socket, link);
    symlinkSync(join(folder, 'elsewhere'), dangling);
    for (const path of [link, dangling]) {
      await expect(bindSocket(path)).rejects.toMatchObject({ code: 'ENOTSOCK' });
      expect(readlinkSync(path)).not.toBe('');
    }
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
    rmSync(folder, { recursive: true });
  });
});
