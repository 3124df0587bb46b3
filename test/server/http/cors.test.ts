// Web pages of other origins: those of the settings, and no others; never for admins.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { call, callAdmin, openGateway, raw, type TestGateway } from '../../support/gateway.js';

const PAGE = 'https://app.example.org';
let open: TestGateway;
let closed: TestGateway;
let key: string;

beforeAll(async () => {
  open = await openGateway({ origins: [PAGE, 'http://localhost:3000'], admin: true });
  closed = await openGateway({ db: open.db });
  key = (await open.key()).text;
});

afterAll(async () => {
  await closed.dispose();
  await open.dispose();
});

interface Asked {
  readonly port?: number;
  readonly origin?: string;
  readonly wanted?: string | null;
  readonly target?: string;
  readonly more?: readonly string[];
}

/** What a browser asks before it lets a page send. */
async function preflight({
  port = open.port,
  origin = PAGE,
  wanted = 'POST',
  target = '/api/v1/query',
  more = [],
}: Asked = {}): Promise<string> {
  const lines = [
    `OPTIONS ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${String(port)}`,
    `Origin: ${origin}`,
    ...(wanted === null ? [] : [`Access-Control-Request-Method: ${wanted}`]),
    'Access-Control-Request-Headers: authorization, content-type',
    'Connection: close',
    ...more,
  ];
  return raw(port, `${lines.join('\r\n')}\r\n\r\n`);
}

describe('a browser that asks first', () => {
  it('answers what a page of a named origin may send, without a body', async () => {
    const answer = await preflight();
    expect(answer).toMatch(/^HTTP\/1\.1 204 /);
    for (const line of [
      'Access-Control-Allow-Origin: https://app.example.org',
      'Access-Control-Allow-Methods: POST',
      'Access-Control-Max-Age: 600',
      'Vary: Origin',
      'Cache-Control: no-store',
    ]) {
      expect(answer).toContain(`\r\n${line}\r\n`);
    }
    expect(answer).toMatch(/\r\nAccess-Control-Allow-Headers: authorization, content-type, [^\r]*\r\n/);
    expect(answer).not.toMatch(/allow-credentials|content-length|access-control-allow-origin: \*/i);
    expect(answer.endsWith('\r\n\r\n')).toBe(true);
  });

  test.each<[string, Asked, RegExp]>([
    ['of another origin', { origin: 'https://evil.example' }, /^HTTP\/1\.1 405 /],
    ['of an origin that only begins like it', { origin: `${PAGE}.evil.example` }, /^HTTP\/1\.1 405 /],
    ['of the origin with another scheme', { origin: 'http://app.example.org' }, /^HTTP\/1\.1 405 /],
    ['of the origin with a port', { origin: `${PAGE}:8443` }, /^HTTP\/1\.1 405 /],
    ['of the origin in capitals', { origin: PAGE.toUpperCase() }, /^HTTP\/1\.1 405 /],
    ['of no origin at all', { origin: 'null' }, /^HTTP\/1\.1 405 /],
    ['without the method that it wants', { wanted: null }, /^HTTP\/1\.1 405 /],
    ['twice', { more: [`Origin: ${PAGE}`] }, /^HTTP\/1\.1 400 /],
    ['with a body', { more: ['Content-Length: 2', '', '{}'] }, /^HTTP\/1\.1 400 /],
  ])('%s is told nothing', async (_, asked, expected) => {
    const answer = await preflight(asked);
    expect(answer).toMatch(expected);
    if (asked.origin !== undefined) expect(answer).not.toContain('Access-Control-Allow');
  });

  it('may ask for a path that is none, so that the page reads that it is none', async () => {
    const answer = await preflight({ target: '/api/v1/nothing', wanted: 'DELETE' });
    expect(answer).toMatch(/^HTTP\/1\.1 204 /);
    expect(answer).toMatch(/\r\nAccess-Control-Allow-Methods: GET, HEAD, POST, PUT, PATCH, DELETE\r\n/);
    const reply = await call(open.port, { method: 'DELETE', path: '/api/v1/nothing', headers: { origin: PAGE } });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([404, PAGE]);
  });

  it('may send what OpenTelemetry sends, and conditions of reads', async () => {
    const [, sent = ''] = /\r\nAccess-Control-Allow-Headers: ([^\r]*)\r\n/.exec(await preflight()) ?? [];
    expect(sent.split(', ')).toEqual(expect.arrayContaining(['traceparent', 'tracestate', 'if-none-match']));
  });

  it('gets no answer if no origin is named, nor from the admin listener', async () => {
    expect(await preflight({ port: closed.port })).toMatch(/^HTTP\/1\.1 405 /);
    const admin = open.admin?.port ?? 0;
    const answer = await preflight({ port: admin, target: '/admin/v1/keys' });
    expect(answer).toMatch(/^HTTP\/1\.1 421 /);
    expect(answer).not.toContain('Access-Control');
  });
});

describe('an answer', () => {
  const ask = (port: number, origin: string): ReturnType<typeof call> =>
    call(port, { key, headers: { origin }, body: { family: 'resource', namespace: '/' } });

  it('may be read by a page of a named origin, a refusal too', async () => {
    const reply = await ask(open.port, PAGE);
    expect(reply.headers).toMatchObject({ 'access-control-allow-origin': PAGE, vary: 'Origin' });
    expect(reply.headers['access-control-expose-headers']).toContain('Bailiwick-Snapshot');
    const refused = await call(open.port, { headers: { origin: PAGE }, body: {} });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, PAGE]);
  });

  it('to any other is as if nobody had asked, and says that it depends on who asks', async () => {
    const reply = await ask(open.port, 'https://evil.example');
    expect(reply.headers).not.toHaveProperty('access-control-allow-origin');
    expect(reply.headers['vary']).toBe('Origin');
    expect((await ask(closed.port, PAGE)).headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('of the listener for admins is for no page', async () => {
    const reply = await callAdmin(open.admin?.port ?? 0, { headers: { origin: PAGE } });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([421, undefined]);
  });
});
