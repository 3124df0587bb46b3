import { once } from 'node:events';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import { call, openGateway, openSocket, raw, readToEnd, type TestGateway } from '../../support/gateway.js';

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
const JSON_QUERY = JSON.stringify(QUERY);

async function codeOf(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const reply = await call(open.port, { key, body, headers });
  return reply.status === 200 ? 200 : reply.json?.['code'];
}

describe('a body', () => {
  test.each([
    ['identity', 200],
    ['Identity', 200],
    ['gzip', 'request.encoding'],
    ['x-gzip', 'request.encoding'],
    ['deflate', 'request.encoding'],
    ['br', 'request.encoding'],
    ['gzip, gzip', 'request.encoding'],
    ['IDENTITY, br', 'request.encoding'],
    ['', 'request.encoding'],
  ])('B01 with encoding %j gives %s', async (encoding, expected) => {
    expect(await codeOf(JSON_QUERY, { 'content-encoding': encoding })).toBe(expected);
  });

  it('B01 that is compressed is never decompressed', async () => {
    expect(await codeOf(brotliCompressSync(JSON_QUERY), { 'content-encoding': 'br' })).toBe('request.encoding');
    expect(await codeOf(gzipSync(JSON_QUERY), { 'content-encoding': 'gzip' })).toBe('request.encoding');
  });

  it('is the same in chunks of one byte each', async () => {
    const chunks = Array.from(Buffer.from(JSON_QUERY), (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`);
    const head = ['POST /api/v1/query HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${key}`];
    const more = ['Content-Type: application/json', 'Transfer-Encoding: chunked', 'Connection: close'];
    const answer = await raw(open.port, `${[...head, ...more].join('\r\n')}\r\n\r\n${chunks.join('')}0\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ['application/json', 200],
    ['Application/JSON', 200],
    ['application/json; charset=utf-8', 200],
    ['application/json;charset="UTF-8"', 200],
    ['text/plain', 'request.media_type'],
    ['application/x-www-form-urlencoded', 'request.media_type'],
    ['multipart/form-data; boundary=x', 'request.media_type'],
    ['application/vnd.x+json', 'request.media_type'],
    ['application/json; charset=utf-16le', 'request.media_type'],
    ['application/json; charset=latin1', 'request.media_type'],
    ['application/json; charset=utf-7', 'request.media_type'],
    ['application/json; charset=utf-32', 'request.media_type'],
    ['application/jsonp', 'request.media_type'],
    ['application/json, text/plain', 'request.media_type'],
    ['', 'request.media_type'],
  ])('B03 of type %j gives %s', async (type, expected) => {
    expect(await codeOf(JSON_QUERY, { 'content-type': type })).toBe(expected);
  });

  test.each<[string, string | Buffer, string]>([
    ['B04 a duplicate key', '{"family":"resource","family":"namespace","namespace":"/"}', 'request.duplicate_key'],
    [
      'B04 an escaped duplicate',
      '{"family":"resource","f\\u0061mily":"resource","namespace":"/"}',
      'request.duplicate_key',
    ],
    [
      'B04 a duplicate far inside',
      '{"family":"resource","namespace":"/","where":{"name":{"eq":"a","eq":"b"}}}',
      'request.duplicate_key',
    ],
    ['B06 invalid UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'request.invalid_unicode'],
    ['B06 an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'request.invalid_unicode'],
    ['B06 half of a character', Buffer.from([0x22, 0xf0, 0x9f, 0x92, 0x22]), 'request.invalid_unicode'],
    [
      'B06 surrogates in bytes',
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0xed, 0xb0, 0x80, 0x22]),
      'request.invalid_unicode',
    ],
    [
      'B06 a byte order mark',
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON_QUERY)]),
      'request.malformed',
    ],
    ['B07 endless lists', `{"where":${'['.repeat(40_000)}`, 'request.too_deep'],
    ['B07 objects in 33 others', `${'{"a":'.repeat(34)}1${'}'.repeat(34)}`, 'request.too_deep'],
    [
      'B07 ten thousand conditions in each other',
      `{"family":"resource","namespace":"/","where":${'{"and":['.repeat(10_000)}{}${']}'.repeat(10_000)}}`,
      'request.too_deep',
    ],
    ...['9007199254740993', '-9007199254740993', '9'.repeat(400), '1e400', '01', '+1', '.5', 'NaN', '1.', '0x10'].map(
      (number): [string, string, string] => [
        `B09 the number ${number.slice(0, 20)}`,
        `{"family":"resource","namespace":"/","where":{"properties.x":{"eq":${number}}}}`,
        'request.malformed',
      ],
    ),
    ...['__proto__', 'constructor', 'prototype'].flatMap((name): [string, string, string][] => [
      [
        `B10 the key ${name}`,
        `{"${name}":{"namespace":"/"},"family":"resource","namespace":"/"}`,
        'request.forbidden_key',
      ],
      [
        `B10 the key ${name} as a field`,
        `{"family":"resource","namespace":"/","where":{"${name}":{"eq":1}}}`,
        'request.forbidden_key',
      ],
    ]),
    ['B12 U+0000', '{"family":"resource","namespace":"/\\u0000"}', 'request.invalid_unicode'],
    ['B12 half of a pair', '{"family":"resource","namespace":"/\\ud800"}', 'request.invalid_unicode'],
    ['B14 a null', 'null', 'request.schema'],
    ['B14 a list', '[1]', 'request.schema'],
    ['B14 a text', '"x"', 'request.schema'],
    ['B14 an unknown key', '{"family":"resource","namespace":"/","apiKey":"canary-2"}', 'request.schema'],
    ['B14 a size as a text', '{"family":"resource","namespace":"/","page":{"size":"10"}}', 'query.limit'],
    ['B14 conditions in a list', '{"family":"resource","namespace":"/","where":[]}', 'request.schema'],
    ['B14 a path that is no path', '{"family":"resource","namespace":"/labs//optics"}', 'namespace.invalid'],
    ['B15 two values', '{}{}', 'request.malformed'],
    ['B15 more behind it', '{} x', 'request.malformed'],
    ['B15 a comment behind it', '{}//c', 'request.malformed'],
    ['B15 a zero byte behind it', '{}\0', 'request.malformed'],
    ['B15 nothing', '', 'request.malformed'],
  ])('with %s is refused', async (_, body, expected) => {
    expect(await codeOf(body)).toBe(expected);
  });

  it('B10 leaves the prototypes of all objects alone', () => {
    expect(Reflect.get({}, 'namespace')).toBeUndefined();
  });

  it('B14 is quoted by no refusal and no log line', async () => {
    for (const body of [
      '{"family":"canary-3"}',
      '{"canary-3":1,"canary-3":2}x',
      '{"family":"resource","namespace":"canary-3 "}',
      '"canary-3',
    ]) {
      expect((await call(open.port, { key, body })).text).not.toContain('canary-3');
    }
    expect(JSON.stringify(open.lines)).not.toContain('canary');
  });

  it('tells the place of a fault', async () => {
    const reply = await call(open.port, { key, body: '{"a":[{"x":1,"x":2}]}' });
    expect(reply.json).toMatchObject({ status: 400, errors: [{ pointer: '/a/0/x', code: 'request.duplicate_key' }] });
  });

  it('B16 is read at its limit and refused beyond, the connection being of use after both', async () => {
    const head = '{"family":"resource","namespace":"/"';
    const fill = (bytes: number): string => `${head}${' '.repeat(bytes - head.length - 1)}}`;
    expect(await codeOf(fill(HTTP_LIMITS.bodyBytes))).toBe(200);
    expect(await codeOf(fill(HTTP_LIMITS.bodyBytes + 1))).toBe('request.too_large');
    expect(await codeOf(JSON_QUERY)).toBe(200);
  });
});

function head(lines: readonly string[]): string {
  return [
    `POST /api/v1/query HTTP/1.1`,
    'Host: a',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');
}

describe('a transfer coding', () => {
  const chunked = (coding: readonly string[]): string =>
    `${head([...coding.map((value) => `Transfer-Encoding: ${value}`), 'Connection: close'])}${JSON_QUERY.length.toString(16)}\r\n${JSON_QUERY}\r\n0\r\n\r\n`;

  test.each([
    [['chunked'], /^HTTP\/1\.1 200 /],
    [['Chunked'], /^HTTP\/1\.1 200 /],
    [['gzip, chunked'], /^HTTP\/1\.1 415 .*request\.encoding/s],
    [['gzip', 'chunked'], /^HTTP\/1\.1 415 .*request\.encoding/s],
    [['identity, chunked'], /^HTTP\/1\.1 415 .*request\.encoding/s],
    [['chunked, chunked'], /^HTTP\/1\.1 4(?:00|15) /],
    [['gzip'], /^HTTP\/1\.1 4(?:00|15) /],
  ])('A18 %j is answered with %s', async (coding, expected) => {
    const socket = await openSocket(open.port);
    const answer = readToEnd(socket);
    socket.write(chunked(coding));
    expect(await answer).toMatch(expected);
  });

  it('other than chunked is refused before the body has arrived, and where none is taken', async () => {
    for (const line of ['POST /api/v1/query', 'GET /api/v1/whoami']) {
      const socket = await openSocket(open.port);
      const answer = readToEnd(socket);
      socket.write(head(['Transfer-Encoding: gzip, chunked']).replace('POST /api/v1/query', line));
      expect(await answer).toMatch(/^HTTP\/1\.1 415 .*request\.encoding/s);
    }
  });
});

describe('a body that nobody reads', () => {
  it('does not hold up an early refusal, and the connection serves the next request', async () => {
    const socket = await openSocket(open.port);
    const answers = readToEnd(socket);
    const refused = head(['Content-Length: 7']).replace(key, 'nobody');
    // The connection of a stranger would end with the refusal.
    socket.write(`GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    socket.write(`${refused}{"a":1}`);
    socket.write(`${head([`Content-Length: ${String(JSON_QUERY.length)}`, 'Connection: close'])}${JSON_QUERY}`);
    const statuses = (await answers).match(/HTTP\/1\.1 \d{3}/g);
    expect(statuses).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  it('B16 is cut off when it does not end', async () => {
    const socket = await openSocket(open.port);
    const answer = readToEnd(socket);
    socket.write(head(['Content-Length: 10737418240']));
    const chunk = Buffer.alloc(64 * 1024, 0x20);
    let sent = 0;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    while (!socket.destroyed && sent < 64 * 1024 * 1024) {
      if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
      sent += chunk.length;
    }
    socket.destroy();
    expect(await answer).toMatch(/^HTTP\/1\.1 413 .*request\.too_large/s);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  it('B16 is waited for only a moment', async () => {
    const socket = await openSocket(open.port);
    const started = performance.now();
    socket.write(`${head(['Content-Length: 100']).replace(key, 'nobody')}{`);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 401 /);
    expect(performance.now() - started).toBeLessThan(HTTP_LIMITS.discardTimeout + 3_000);
  });

  it('B16 in chunks without end is refused at the limit', async () => {
    const socket = await openSocket(open.port);
    const answer = readToEnd(socket);
    socket.write(head(['Transfer-Encoding: chunked']));
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let i = 0; i < 20 && !socket.destroyed; i += 1) socket.write(chunk);
    socket.end('0\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1\.1 413 .*request\.too_large/s);
  });

  it('is not asked for when the request is refused before', async () => {
    const answer = await raw(open.port, head(['Content-Length: 100', 'Expect: 100-continue']).replace(key, 'nobody'));
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).not.toContain('100 Continue');
    expect(answer).toMatch(/connection: close/i);
  });

  it('is asked for when it is wanted', async () => {
    const socket = await openSocket(open.port);
    socket.write(head([`Content-Length: ${String(JSON_QUERY.length)}`, 'Expect: 100-continue', 'Connection: close']));
    const [leave] = (await once(socket, 'data')) as [Buffer];
    expect(leave.toString()).toMatch(/^HTTP\/1\.1 100 Continue/);
    const answer = readToEnd(socket);
    socket.write(JSON_QUERY);
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('B16 that breaks off leaves the gateway as it was', async () => {
    const socket = await openSocket(open.port);
    socket.write(`${head(['Content-Length: 100'])}{"family"`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    socket.destroy();
    expect(await codeOf(JSON_QUERY)).toBe(200);
    expect(open.lines.filter((line) => line.level === 'error')).toEqual([]);
  });

  it('where none is taken is refused', async () => {
    const reply = await call(open.port, { method: 'GET', path: '/api/v1/whoami', key, body: '{}' });
    expect([reply.status, reply.json?.['code']]).toEqual([400, 'request.schema']);
  });
});
