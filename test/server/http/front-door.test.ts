import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import { call, openGateway, raw, type TestGateway } from '../../support/gateway.js';

let open: TestGateway;
let key: string;

beforeAll(async () => {
  open = await openGateway();
  key = (await open.key()).text;
});

afterAll(async () => {
  await open.dispose();
});

const QUERY = { family: 'resource', namespace: '/' };

/** A whole request as text; the connection is asked to close after it. */
function text(target: string, headers: readonly string[] = [], method = 'POST'): string {
  const body = JSON.stringify(QUERY);
  return [
    `${method} ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${String(body.length)}`,
    'Connection: close',
    ...headers,
    '',
    body,
  ].join('\r\n');
}

function statusAndCode(answer: string): string {
  const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none';
  return `${status} ${/"code":"([^"]+)"/.exec(answer)?.[1] ?? ''}`.trim();
}

describe('an answer', () => {
  it('A01 names the policy and the request, and stays out of caches', async () => {
    const reply = await call(open.port, { key, body: QUERY });
    expect(reply.status).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'bailiwick-snapshot': open.gateway.policies.current().policy.digest,
    });
    expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9_-]{16}$/);
    expect(reply.headers).not.toHaveProperty('etag');
    expect(reply.headers).not.toHaveProperty('x-powered-by');
  });

  it.each(['a', 'trace-1.2_3', 'x'.repeat(64)])('keeps the valid request id %s', async (id) => {
    const reply = await call(open.port, { key, body: QUERY, headers: { 'x-request-id': id } });
    expect(reply.headers['x-request-id']).toBe(id);
  });

  it.each([
    ['spaces', 'a b'],
    ['an encoded line end', 'a%0d%0aSet-Cookie:x'],
    ['too much', 'x'.repeat(4_096)],
    ['nothing', ''],
  ])('A13 gives an id of its own for one with %s', async (_, id) => {
    const reply = await call(open.port, { key, body: {}, headers: { 'x-request-id': id } });
    expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9_-]{16}$/);
    expect(reply.json?.['requestId']).toBe(reply.headers['x-request-id']);
  });

  it('of a refusal is a problem document with the same headers', async () => {
    const reply = await call(open.port, { path: '/nowhere', body: QUERY });
    expect(reply.status).toBe(404);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'bailiwick-snapshot': open.gateway.policies.current().policy.digest,
    });
    expect(reply.json).toEqual({
      type: '/docs/problems#route.not_found',
      title: 'There is no such route',
      status: 404,
      code: 'route.not_found',
      requestId: reply.headers['x-request-id'],
    });
  });
});

describe('a path is exact', () => {
  test.each([
    ['A02', '/API/V1/QUERY'],
    ['A02', '/api/v1/Query'],
    ['A03', '/api/v1/query/'],
    ['A03', '/api/v1/query/count/'],
    ['A04', '/api/v1/%71uery'],
    ['A08', '/api/v1/%2571uery'],
    ['A05', '//api/v1/query'],
    ['A05', '/api//v1/query'],
    ['A05', '///evil/api/v1/query'],
    ['A06', '/api/v1%2Fquery'],
    ['A06', '/api/v1%5Cquery'],
    ['A06', '/api\\v1\\query'],
    ['A07', '/api/v1/x/../query'],
    ['A07', '/api/v1/./query'],
    ['A07', '/api/v1/..;/query'],
    ['A08', '/api/v1/%c0%ae%c0%ae/query'],
    ['A08', '/api/v1/%E0%A4%A'],
    ['A09', '/api/v1/query;admin=1'],
    ['A08', '/api/v1/query%00'],
    ['A15', '/__proto__'],
    ['A15', '/constructor'],
    ['A02', '/'],
  ])('%s %s is 404', async (_, target) => {
    expect(statusAndCode(await raw(open.port, text(target)))).toBe('404 route.not_found');
  });

  test.each([
    ['A10 a query string', '/api/v1/query?actor=adm&limit=1', '400 request.schema'],
    ['A10 an empty query string', '/api/v1/query?', '400 request.schema'],
    ['C05 a token in the query string', '/api/v1/query?access_token=canary-1', '400 request.schema'],
    ['A10 a query string on no route', '/api/v1/nothing?x=1', '404 route.not_found'],
    ['A10 a fragment', '/api/v1/query#/healthz', '400 request.malformed'],
    ['A12 the absolute form', 'http://evil.example/api/v1/query', '400 request.malformed'],
    ['A12 an asterisk', '*', '400'],
    ['a target at its limit', `/${'a'.repeat(HTTP_LIMITS.targetCharacters - 1)}`, '404 route.not_found'],
    ['a longer target', `/${'a'.repeat(HTTP_LIMITS.targetCharacters)}`, '414 request.uri_too_long'],
    [
      'a target longer than all headers may be',
      `/${'a'.repeat(HTTP_LIMITS.headerBytes + 10)}`,
      '414 request.uri_too_long',
    ],
  ])('%s is refused', async (_, target, expected) => {
    expect(statusAndCode(await raw(open.port, text(target)))).toMatch(
      new RegExp(`^${expected.replaceAll('.', '\\.')}`),
    );
  });

  it('C05 logs no query string', () => {
    expect(JSON.stringify(open.lines)).not.toContain('canary-1');
  });
});

describe('a method is exact', () => {
  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'])(
    'A17 %s is 405 and told what is allowed',
    async (method) => {
      const reply = await call(open.port, { method, key });
      expect(reply.status).toBe(405);
      expect(reply.headers['allow']).toBe('POST');
      expect(reply.headers['x-request-id']).toBeDefined();
      if (method !== 'HEAD') expect(reply.json?.['code']).toBe('request.method');
    },
  );

  it('A17 HEAD is GET without the body, for the same callers', async () => {
    const path = '/api/v1/whoami';
    const [bare, head, whole] = await Promise.all([
      call(open.port, { method: 'HEAD', path }),
      call(open.port, { method: 'HEAD', path, key }),
      call(open.port, { method: 'GET', path, key }),
    ]);
    expect([bare.status, head.status, head.text]).toEqual([401, 200, '']);
    expect(head.headers['content-length']).toBe(whole.headers['content-length']);
  });

  test.each([
    'X-HTTP-Method-Override: DELETE',
    'X-Original-URL: /nowhere',
    'X-Forwarded-Uri: /healthz',
    'X-Forwarded-For: 127.0.0.1',
    'X-User: adm',
    'X-Actor: adm',
  ])('A16 %s changes nothing', async (header) => {
    expect(statusAndCode(await raw(open.port, text('/api/v1/query', [header])))).toBe('200');
    expect(statusAndCode(await raw(open.port, text('/api/v1/query', [header]).replace(key, 'x')))).toBe(
      '401 auth.invalid',
    );
  });

  it('A17 knows no upgrade', async () => {
    const websocket =
      'GET /api/v1/query HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n';
    expect(statusAndCode(await raw(open.port, websocket))).toBe('405 request.method');
    expect(statusAndCode(await raw(open.port, 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n'))).toBe(
      '405 request.method',
    );
  });
});

describe('headers', () => {
  test.each([
    ['A12 two hosts', ['Host: b'], '400 request.malformed'],
    ['C04 two credentials', ['Authorization: Bearer x'], '400 request.malformed'],
    ['C04 the same credential twice', ['authorization: Bearer x'], '400 request.malformed'],
    ['A18 two media types', ['Content-Type: text/plain'], '400 request.malformed'],
    [
      'A14 too many',
      Array.from({ length: HTTP_LIMITS.headers }, (_, i) => `x-${String(i)}: y`),
      '431 request.headers_too_large',
    ],
    ['A14 too much', [`x-long: ${'y'.repeat(HTTP_LIMITS.headerBytes)}`], '431 request.headers_too_large'],
    ['A14 names of prototypes', ['__proto__: x', 'constructor: x'], '200'],
  ])('%s', async (_, headers, expected) => {
    expect(statusAndCode(await raw(open.port, text('/api/v1/query', headers)))).toBe(expected);
  });

  test.each([
    ['A12 no host', 'POST /api/v1/query HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['A12 an empty host', 'POST /api/v1/query HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'],
    [
      'A12 user information in the host',
      'POST /api/v1/query HTTP/1.1\r\nHost: gateway@evil\r\nConnection: close\r\n\r\n',
    ],
    ['A18 a line fold', 'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\nConnection: close\r\n\r\n'],
    ['A18 a bare line feed', 'POST /api/v1/query HTTP/1.1\nHost: a\n\n'],
    [
      'A18 both lengths',
      'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'A18 the length twice',
      'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
    ],
    [
      'A18 two transfer codings',
      'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    ],
    ['A18 a negative chunk', 'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n'],
    [
      'A18 a chunk that no number holds',
      `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`,
    ],
    [
      'A18 a chunk with endless extensions',
      `POST /api/v1/query HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(64 * 1024)}\r\n{}\r\n0\r\n\r\n`,
    ],
    ['A18 no HTTP', 'hello\r\n\r\n'],
  ])('%s is 400 and the end of the connection', async (_, bytes) => {
    const answer = await raw(open.port, bytes);
    expect(statusAndCode(answer)).toMatch(/^(?:400 request\.malformed|401 auth\.required|none)$/);
    expect(answer).not.toContain('HTTP/1.1 200');
    expect(answer.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThanOrEqual(1);
  });
});

it('serves on after all of this', async () => {
  expect((await call(open.port, { key, body: QUERY })).status).toBe(200);
  expect(open.lines.filter((line) => line.level === 'error')).toEqual([]);
});
