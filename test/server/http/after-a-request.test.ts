// What comes after a request on its connection and is none: it neither ends the gateway, a process of its own here, nor
// takes anything from an answer under way.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { call, openSocket, readToEnd } from '../../support/gateway.js';
import { runCli } from '../../support/run-cli.js';
import { type Served, startServing } from '../../support/serve-process.js';
import { newDataDir } from '../../support/stores.js';
import { until } from '../../support/until.js';

const PAGE = '{"family":"resource","namespace":"/a","page":{"size":500}}';
const TUNNEL = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n';

let dataDir: string;
let served: Served;

beforeAll(async () => {
  dataDir = await newDataDir();
  const lines = Array.from({ length: 16 }, (_, index) =>
    JSON.stringify({
      family: 'resource',
      namespace: '/a',
      name: `n${String(index)}`,
      properties: { x: 'x'.repeat(900_000) },
    }),
  );
  expect(await runCli(['load', '--data-dir', dataDir, '-'], { stdin: lines.join('\n') })).toMatchObject({ status: 0 });
  served = await startServing(dataDir, 'local');
});

afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const headed = (line: string, ...headers: readonly string[]): string =>
  [line, `Host: localhost:${String(served.port)}`, ...headers, '', ''].join('\r\n');

const query = (): string =>
  headed('POST /api/v1/query HTTP/1.1', 'Content-Type: application/json', `Content-Length: ${String(PAGE.length)}`) +
  PAGE;

const refusals = (): number => served.stderr().split(/"request\.(?:method|malformed)"/).length - 1;

const health = async (): Promise<number> => {
  const headers = { host: `localhost:${String(served.port)}` };
  return (await call(served.port, { method: 'GET', path: '/livez', headers })).status;
};

describe('a CONNECT after a request', () => {
  it('whose client resets the connection leaves the gateway as it is', async () => {
    const before = refusals();
    const socket = await openSocket(served.port);
    socket.write(`${headed('GET /livez HTTP/1.1')}${TUNNEL}`);
    socket.resetAndDestroy();
    await until(() => Promise.resolve(refusals() > before), 'a refusal');
    expect(await health()).toBe(200);
  });

  it('leaves the events of a stream as they are', async () => {
    const before = refusals();
    const socket = await openSocket(served.port);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.write(headed('GET /api/v1/changes HTTP/1.1', 'Accept: text/event-stream'));
    await until(() => Promise.resolve(text.includes('\r\n\r\n')), 'the head of the stream');
    socket.write(TUNNEL);
    await until(() => Promise.resolve(refusals() > before), 'a refusal');
    const written = await call(served.port, {
      path: '/api/v1/resources',
      headers: { host: `localhost:${String(served.port)}`, 'idempotency-key': 'k1' },
      body: { namespace: '/a', name: 'after' },
    });
    expect(written.status).toBe(201);
    await until(() => Promise.resolve(text.includes(String(written.json?.['id']))), 'the event');
    // The end of the stream is heard behind it, too.
    socket.end();
    await once(socket, 'close');
    expect(await health()).toBe(200);
  });

  it.each([
    ['a CONNECT', TUNNEL],
    ['bytes that are no request', 'hello\r\n\r\n'],
  ])('and %s in one packet with it leave its answer as it is', async (_, after) => {
    const socket = await openSocket(served.port);
    const body = '{"family":"resource","namespace":"/a","page":{"size":1},"select":["name"]}';
    const length = `Content-Length: ${String(body.length)}`;
    socket.write(headed('POST /api/v1/query HTTP/1.1', 'Content-Type: application/json', length) + body + after);
    expect((await readToEnd(socket)).split('\r\n', 1)).toEqual(['HTTP/1.1 200 OK']);
  });
});

describe('a large answer', () => {
  test.each([
    ['bytes that are no request', 'hello\r\n\r\n'],
    ['a CONNECT', TUNNEL],
  ])('is whole if %s came after its request, and is the last of its connection', async (_, after) => {
    const before = refusals();
    const socket = await openSocket(served.port);
    socket.write(query());
    // Nobody reads yet, so most of the answer is still the gateway's.
    await until(() => Promise.resolve(socket.readableLength > 0), 'the answer');
    socket.write(after);
    await until(() => Promise.resolve(refusals() > before), 'a refusal');
    const answer = await readToEnd(socket);
    const [head = ''] = answer.split('\r\n\r\n', 1);
    expect(head).toContain('HTTP/1.1 200');
    const length = Number(/Content-Length: (\d+)/.exec(head)?.[1]);
    expect(length).toBeGreaterThan(5_000_000);
    expect(answer.length).toBe(head.length + 4 + length);
  });
});

describe('a gateway that has heard all this', () => {
  it('ends when it is told to', async () => {
    served.child.kill('SIGTERM');
    expect(await served.ended).toBe(0);
  });
});
