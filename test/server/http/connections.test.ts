// Connections of a listener: nobody holds all of them, whoever shows a valid credential has a place, and one connection
// holds one answer, however many requests it sends.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeConnectionTable } from '../../../server/http/connection-table.js';
import { HTTP_LIMITS } from '../../../server/limits/http.js';
import { call, callAdmin, openGateway, openSocket, readToEnd, type TestGateway } from '../../support/gateway.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { until } from '../../support/until.js';

const TOTAL = 12;
const PER_ADDRESS = 5;

let open: TestGateway;
let small: TestGateway;
let key: string;

beforeAll(async () => {
  open = await openGateway();
  small = await openGateway({
    db: open.db,
    admin: true,
    connections: { total: TOTAL, perAddress: PER_ADDRESS, isProxy: (address) => address === '127.0.0.99' },
  });
  key = (await open.key()).text;
});
afterAll(async () => {
  await small.dispose();
  await open.dispose();
});

const whoami = (authorization = ''): string =>
  `GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n${authorization === '' ? '' : `Authorization: Bearer ${authorization}\r\n`}\r\n`;

interface Client {
  readonly socket: Socket;
  readonly isOpen: () => boolean;
}

async function from(localAddress: string, port = small.port): Promise<Client> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  let isOpen = true;
  socket.on('error', () => undefined);
  socket.resume();
  socket.once('close', () => {
    isOpen = false;
  });
  await once(socket, 'connect');
  return { socket, isOpen: () => isOpen };
}

/** Sends a request and gives the head of its answer; empty if the connection is closed instead. */
async function ask({ socket }: Client, text: string): Promise<string> {
  const answered = Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])]);
  socket.write(text);
  return String((await answered)[0]);
}

async function openOnes(clients: readonly Client[]): Promise<number> {
  await sleep(50);
  return clients.filter(({ isOpen }) => isOpen()).length;
}

const endAll = async (clients: readonly Client[]): Promise<void> => {
  for (const { socket } of clients) socket.destroy();
  await until(async () => (await gauge('stranger')) + (await gauge('known')) === 0);
};

async function metrics(): Promise<string> {
  return (await callAdmin(small.admin?.port ?? 0, { path: '/metrics' })).text;
}

async function gauge(from: string): Promise<number> {
  return Number(new RegExp(`bailiwick_http_connections\\{from="${from}"\\} (\\d+)`).exec(await metrics())?.[1]);
}

describe('a table of connections', () => {
  it('has a share for each address: its oldest idle stranger gives way to its next one', async () => {
    // There before the first, since nothing has grown for Prometheus that appears with its first count.
    expect(await metrics()).toContain('bailiwick_http_connections_cut_total{reason="full"} 0\n');
    const those = [];
    for (let i = 0; i < PER_ADDRESS + 2; i += 1) those.push(await from('127.0.0.2'));
    expect(await openOnes(those)).toBe(PER_ADDRESS);
    expect(those.slice(0, 2).map(({ isOpen }) => isOpen())).toEqual([false, false]);
    const [other] = [await from('127.0.0.3')];
    expect(await openOnes([...those, other])).toBe(PER_ADDRESS + 1);
    expect(await metrics()).toContain('bailiwick_http_connections_cut_total{reason="address"} 2');
    await endAll([...those, other]);
  });

  it('counts neither those with a valid credential nor those of proxies against an address', async () => {
    const those = [];
    for (let i = 0; i < PER_ADDRESS + 3; i += 1) {
      const one = await from('127.0.0.2');
      expect(await ask(one, whoami(key))).toContain('HTTP/1.1 200');
      those.push(one);
    }
    expect(await openOnes(those)).toBe(PER_ADDRESS + 3);
    expect([await gauge('known'), await gauge('stranger')]).toEqual([PER_ADDRESS + 3, 0]);
    await endAll(those);
    const proxied = [];
    for (let i = 0; i < PER_ADDRESS + 2; i += 1) proxied.push(await from('127.0.0.99'));
    expect(await openOnes(proxied)).toBe(PER_ADDRESS + 2);
    await endAll(proxied);
  });

  it('that is full gives the place of the oldest stranger to a client with a key, and says so once', async () => {
    const known = await from('127.0.0.1');
    await ask(known, whoami(key));
    const strangers = [];
    for (let i = 0; i < TOTAL + 5; i += 1) strangers.push(await from(`127.0.0.${String(10 + i)}`));
    expect(await openOnes(strangers)).toBe(TOTAL - 1);
    expect(known.isOpen()).toBe(true);
    for (let i = 0; i < 3; i += 1)
      expect((await call(small.port, { method: 'GET', path: '/api/v1/whoami', key })).status).toBe(200);
    const full = small.lines.filter(({ message }) => message.startsWith('all connections are in use'));
    expect(full).toEqual([expect.objectContaining({ level: 'warn', max: TOTAL })]);
    expect(await metrics()).toContain(`bailiwick_http_connections_max ${String(TOTAL)}`);
    await endAll([known, ...strangers]);
  });

  it('that is full of clients with keys ends an idle one of theirs', async () => {
    const those = [];
    for (let i = 0; i < TOTAL; i += 1) {
      const one = await from('127.0.0.1');
      await ask(one, whoami(key));
      those.push(one);
    }
    const next = await from('127.0.0.2');
    expect(await ask(next, whoami(key))).toContain('HTTP/1.1 200');
    expect(those[0]?.isOpen()).toBe(false);
    await endAll([...those, next]);
  });
});

describe('a newcomer in a table that clients with keys fill with idle connections', () => {
  it.each([
    ['one address', ['127.0.0.2'], 3],
    ['several addresses', ['127.0.0.2', '127.0.0.3', '127.0.0.4'], 1],
    ['a proxy', ['127.0.0.99'], 1],
  ])(
    'has the time to show a valid credential, if they are of %s and open others meanwhile',
    async (_, addresses, more) => {
      const those = [];
      for (let i = 0; i < TOTAL; i += 1) {
        const one = await from(addresses[i % addresses.length] ?? '');
        expect(await ask(one, whoami(key))).toContain('HTTP/1.1 200');
        those.push(one);
      }
      const next = await from('127.0.0.5');
      for (let i = 0; i < more; i += 1) those.push(await from(addresses[0] ?? ''));
      expect(await openOnes([...those, next])).toBe(TOTAL);
      expect(await ask(next, whoami(key))).toContain('HTTP/1.1 200');
      await endAll([...those, next]);
    },
  );
});

describe('a stranger who is refused', () => {
  it('has to connect again, and a client that was valid before has not', async () => {
    const stranger = await from('127.0.0.1');
    expect(await ask(stranger, whoami())).toMatch(/^HTTP\/1\.1 401[^]*\r\nConnection: close\r\n/);
    await once(stranger.socket, 'close');
    const known = await from('127.0.0.1');
    await ask(known, whoami(key));
    expect(await ask(known, whoami('bwk_no'))).toMatch(/^HTTP\/1\.1 401(?![^]*Connection: close)/);
    expect(await ask(known, whoami(key))).toContain('HTTP/1.1 200');
    await endAll([known]);
  });

  const refused = [
    ['404 Not Found', 'GET /nope HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['405 Method Not Allowed', 'PUT /api/v1/query HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n'],
    ['400 Bad Request', 'GET /api/v1/whoami?a=%zz HTTP/1.1\r\nHost: a, b\r\n\r\n'],
    ['414 URI Too Long', `GET /${'a'.repeat(9_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
  ] as const;

  it.each(refused)('with %s has to connect again, too', async (status, request) => {
    const stranger = await from('127.0.0.1');
    const head = await ask(stranger, request);
    expect(head).toMatch(/^[^]*\r\nConnection: close\r\n/);
    expect(head).toContain(`HTTP/1.1 ${status}\r\n`);
    await once(stranger.socket, 'close');
    const known = await from('127.0.0.1');
    await ask(known, whoami(key));
    expect(await ask(known, request)).not.toContain('Connection: close');
    expect(await ask(known, whoami(key))).toContain('HTTP/1.1 200');
    await endAll([known]);
  });

  it('counts against the limit of the address, whatever the refusal', async () => {
    const limited = await openGateway({ db: open.db, rate: { perAddress: 5 } });
    const statuses: string[] = [];
    for (let times = 0; times < 3; times += 1)
      for (const [, request] of refused) {
        const head = await ask(await from('127.0.0.1', limited.port), request);
        statuses.push(head.slice(9, 12));
      }
    expect(statuses.slice(0, 5)).toEqual(['404', '405', '400', '414', '404']);
    expect(statuses.slice(5)).toContain('429');
    await limited.dispose();
  });

  it.each([
    ['400', 'hello\r\n\r\n'],
    ['405', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['414', `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['431', `GET / HTTP/1.1\r\nHost: a\r\nX-Filler: ${'a'.repeat(100_000)}\r\n\r\n`],
  ])('counts with %s for what cannot be read, unless a proxy passed that on', async (status, unreadable) => {
    // One request, and no other for longer than this takes.
    const rate = { perAddress: 0.001 };
    for (const [trustProxy, next] of [[[], '429'] as const, [['127.0.0.1'], '200'] as const]) {
      const limited = await openGateway({ db: open.db, rate, trustProxy });
      const statuses: string[] = [];
      for (const request of [unreadable, whoami(key)])
        statuses.push((await ask(await from('127.0.0.1', limited.port), request)).slice(9, 12));
      expect(statuses).toEqual([status, next]);
      await limited.dispose();
    }
  });
});

it('nothing is left of a connection that has closed', async () => {
  const nothing = (): void => undefined;
  const limits = { total: TOTAL, perAddress: PER_ADDRESS, isProxy: () => false };
  const table = makeConnectionTable({ ...limits, isIdle: () => true, onCut: nothing, onFull: nothing });
  const taken: WeakRef<Socket>[] = [];
  const server = createServer((socket) => {
    table.take(socket.on('error', nothing).resume());
    taken.push(new WeakRef(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const at = server.address();
  const { socket } = await from('127.0.0.1', typeof at === 'object' ? at?.port : undefined);
  await until(() => table.facts().strangers === 1);
  socket.destroy();
  await until(() => table.facts().strangers === 0);
  await until(() => {
    collectGarbage();
    return taken[0]?.deref() === undefined;
  });
  server.close();
});

describe('requests one after the other on a connection', () => {
  it('are answered in order, each once the client has taken the answers before', async () => {
    const socket = await openSocket(open.port);
    const whole = readToEnd(socket);
    const many = 50;
    socket.write(whoami(key).repeat(many) + 'GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const statuses = [...(await whole).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    expect(statuses).toEqual([...Array<string>(many).fill('200'), '404']);
  });

  it('get the fault of the last one in its turn: the ones before are answered as they are', async () => {
    for (const [body, status] of [
      [
        'POST /api/v1/query HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
        400,
      ],
      ['hello\r\n\r\n', null],
    ] as const) {
      const socket = await openSocket(open.port);
      const whole = readToEnd(socket);
      socket.write(whoami(key).repeat(3) + body.replace('KEY', key));
      const statuses = [...(await whole).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, one]) => Number(one));
      expect(statuses).toEqual([200, 200, 200, ...(status === null ? [] : [status])]);
    }
  });

  it('of which too many wait end the connection', async () => {
    const one = await from('127.0.0.1', open.port);
    one.socket.pause();
    one.socket.write(whoami(key).repeat(HTTP_LIMITS.pipelined + 10));
    one.socket.resume();
    await once(one.socket, 'close');
    expect(one.isOpen()).toBe(false);
  });

  it('of which too much waits on all connections together end those of strangers, and then the others', async () => {
    // Each may have a body that nobody has asked for yet.
    const bodies = (count: number): string =>
      'POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'.repeat(count);
    const part = Math.floor((0.4 * HTTP_LIMITS.pipelinedBytes) / HTTP_LIMITS.pipelinedBody);
    const stranger = await from('127.0.0.1', open.port);
    stranger.socket.pause();
    stranger.socket.write('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(100) + bodies(part / 2));
    const stream = whoami(key).replace('whoami', 'changes').replace('Host', 'Accept: text/event-stream\r\nHost');
    const known: Client[] = [];
    const more = async (): Promise<void> => {
      const one = await from('127.0.0.1', open.port);
      expect(await ask(one, stream)).toContain('HTTP/1.1 200');
      one.socket.write(bodies(part));
      await sleep(200);
      known.push(one);
    };
    const areOpen = (): readonly boolean[] => known.map(({ isOpen }) => isOpen());
    await more();
    await more();
    stranger.socket.resume();
    await until(() => !stranger.isOpen());
    expect(areOpen()).toEqual([true, true]);
    await more();
    expect(areOpen()).toEqual([false, true, true]);
    known[2]?.socket.destroy();
    await more();
    expect(areOpen()).toEqual([false, true, false, true]);
  });

  it('of which too large ones wait end the connection, also behind an answer that does not end', async () => {
    const one = await from('127.0.0.1', open.port);
    const stream = whoami(key).replace('whoami', 'changes').replace('Host', 'Accept: text/event-stream\r\nHost');
    expect(await ask(one, stream)).toContain('HTTP/1.1 200');
    const large = `GET /livez HTTP/1.1\r\nHost: a\r\nX-Filler: ${'x'.repeat(15_000)}\r\n\r\n`;
    one.socket.write(large.repeat(10));
    await sleep(200);
    expect(one.isOpen()).toBe(true);
    one.socket.write(large.repeat(10));
    await until(() => !one.isOpen());
  });

  it('hold one answer, however many are asked for: the memory of strangers is bounded', async () => {
    const before = process.memoryUsage().rss;
    const those = [];
    for (let i = 0; i < 30; i += 1) {
      const one = await from('127.0.0.1', open.port);
      one.socket.pause();
      one.socket.write('GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(170));
      those.push(one);
    }
    for (let i = 0; i < 10; i += 1) {
      await sleep(20);
      expect((await call(open.port, { method: 'GET', path: '/api/v1/whoami', key })).status).toBe(200);
    }
    // 30 times 170 answers would be 600 MB. What the system has taken over is not ours.
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
    for (const { socket } of those) socket.destroy();
  });
});
