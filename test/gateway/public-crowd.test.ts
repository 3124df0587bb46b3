// Many who read nothing of their answers, with a credential or without one: what they leave unread and what they ask for
// at once keeps nobody else from being answered.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bindTcp, type GatewayServices, listen, makeServices } from '../../server/compose.js';
import { anyHost } from '../../server/http/host-guard.js';
import type { ActorRoute } from '../../server/http/route.js';
import { STREAM_LIMITS } from '../../server/limits/changes.js';
import { HTTP_LIMITS, SHARE_LIMITS } from '../../server/limits/http.js';
import { openStream } from '../support/event-stream.js';
import { call, callAdmin, openGateway, openSocket, policyOf, readToEnd, type TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const ANYONE = { provider: 'public', subject: 'anyone' };
/** More than a system takes over for a client that reads nothing. */
const LARGE = 24 * 1024 * 1024;
const PER_ACTOR = 4;

const MODE = { kind: 'serve', policy: policyOf([[ANYONE, '/', ['resource:read']]]) } as const;
const AUTHENTICATION = {
  keys: { enabled: true },
  ...{ oidc: [], introspection: [], mtls: null, revocationsFile: null },
  anonymous: { identity: ANYONE },
};

let open: TestGateway;
let services: GatewayServices;

function servicesFor(perActor: number): Promise<GatewayServices> {
  return makeServices({
    mode: MODE,
    db: open.db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor },
    authentication: AUTHENTICATION,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
}

beforeAll(async () => {
  open = await openGateway();
  services = await servicesFor(PER_ACTOR);
});
afterAll(async () => {
  await services.close();
  await open.dispose();
});

const PAGE: ActorRoute = {
  ...{ method: 'GET', path: '/page', access: 'self', operationId: 'test', summary: 'A test', input: {} },
  output: { 200: { type: 'application/json', schema: { type: 'object' } } },
  run: () => Promise.resolve({ status: 200, json: JSON.stringify({ a: 'a'.repeat(LARGE) }) }),
};

/** Whoever asks first reads nothing. Whoever asks last gets the whole answer. */
async function expectRoom(slowOnes: readonly Asking[], last: Asking): Promise<void> {
  const at = await bindTcp({ host: '127.0.0.1', port: 0 });
  const listener = await listen(services, { routes: [PAGE], manner: { guard: anyHost }, at });
  const ask = async ({ localAddress = '127.0.0.1', key }: Asking): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: listener.at.port, localAddress });
    await once(socket, 'connect');
    const credential = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`;
    const head = `GET /page HTTP/1.1\r\nHost: a\r\n${credential}Connection: close\r\n\r\n`;
    socket.on('error', () => undefined).write(head);
    return socket;
  };
  const slow: Socket[] = [];
  for (const one of slowOnes) {
    const socket = await ask(one);
    await once(socket, 'data');
    socket.pause();
    slow.push(socket);
  }
  const answer = await readToEnd(await ask(last));
  expect(answer.slice(0, 12)).toBe('HTTP/1.1 200');
  expect(answer.length).toBeGreaterThan(LARGE);
  for (const socket of slow) socket.destroy();
  await until(() => at.connections().strangers === 0);
  await listener.close();
}

interface Asking {
  readonly localAddress?: string;
  readonly key?: string;
}

it('who read slowly lose their connections to those who come, however few addresses they have', async () => {
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.2', '127.0.0.3'];
  expect(addresses.length * LARGE).toBeGreaterThan(SHARE_LIMITS.anonymousUnreadBytes);
  await expectRoom(
    addresses.map((localAddress) => ({ localAddress })),
    { localAddress: '127.0.0.4' },
  );
});

it('lose them to actors who come, if they are actors', async () => {
  const keys: string[] = [];
  for (let n = 0; (n - 1) * LARGE <= SHARE_LIMITS.actorsUnreadBytes; n += 1)
    keys.push((await open.key({ actor: `actor-${String(n)}` })).text);
  const [last = '', ...slow] = keys;
  expect(slow.length * LARGE).toBeGreaterThan(SHARE_LIMITS.actorsUnreadBytes);
  await expectRoom(
    slow.map((key) => ({ key })),
    { key: last },
  );
});

// 0 is no limit for an actor.
it.each([PER_ACTOR, 0])(
  'leave connections of the store to others, whatever they ask for (%s an actor)',
  async (perActor) => {
    const most = open.db.pools().find(({ name }) => name === 'read')?.max ?? 0;
    const own = await servicesFor(perActor);
    const leaving = new AbortController();
    let begun = 0;
    const asked = Array.from({ length: 3 * PER_ACTOR }, () =>
      own.shares.crowd.enter('', { gone: leaving.signal }).then(
        (leave) => {
          begun += 1;
          return leave;
        },
        () => () => undefined,
      ),
    );
    await nextTurn();
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThanOrEqual(most - PER_ACTOR);
    leaving.abort();
    for (const leave of await Promise.all(asked)) leave();
    await own.close();
  },
);

describe('who begin and do not end keep nobody else waiting', () => {
  let served: TestGateway;
  beforeAll(async () => {
    served = await openGateway({
      db: open.db,
      mode: MODE,
      authentication: AUTHENTICATION,
      trustProxy: ['127.0.0.1'],
      admin: true,
    });
  });
  afterAll(async () => {
    await served.dispose();
  });

  const from = (host: number): Readonly<Record<string, string>> => ({ 'x-forwarded-for': `192.0.2.${String(host)}` });
  const begin = async (host: number, bytes: number, sent = ''): Promise<Socket> => {
    const socket = await openSocket(served.port);
    const headers = { ...from(host), host: 'localhost', connection: 'close', 'content-type': 'application/json' };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST /api/v1/query/count HTTP/1.1\r\n${lines.join('')}Content-Length: ${String(bytes)}\r\n\r\n`;
    socket.on('error', () => undefined).write(head + sent);
    return socket;
  };
  const ask = (host: number): ReturnType<typeof call> =>
    call(served.port, {
      path: '/api/v1/query/count',
      headers: from(host),
      body: { family: 'resource', namespace: '/' },
    });
  const metrics = async (): Promise<string> => (await callAdmin(served.admin?.port ?? 0, { path: '/metrics' })).text;

  it('with a body', async () => {
    const slow = await Promise.all(Array.from({ length: PER_ACTOR }, () => begin(1, 60)));
    // All of them have been begun before this is answered.
    await metrics();
    let isAnswered = false;
    const own = ask(1).then((reply) => {
      isAnswered = true;
      return reply;
    });
    for (let host = 2; host < 12; host += 1) expect((await ask(host)).status).toBe(200);
    // Their own turns are taken.
    expect(isAnswered).toBe(false);
    for (const socket of slow) socket.destroy();
    expect((await own).status).toBe(200);
  });

  it('with bodies that fill the memory', async () => {
    const small = await begin(1, 60, '{"family":"resource",');
    const bytes = HTTP_LIMITS.bodyBytes;
    const most = SHARE_LIMITS.anonymousBodyBytes / bytes;
    const large: Socket[] = [];
    for (let n = 0; n <= most; n += 1)
      large.push(await begin(2 + Math.floor(n / PER_ACTOR), bytes, ' '.repeat(bytes - 1)));
    await until(async () => /cut_total{reason="pipelined"} [1-9]/.test(await metrics()));
    small.write(`"namespace":"/"}${' '.repeat(60 - 21 - 16)}`);
    expect((await readToEnd(small)).slice(0, 12)).toBe('HTTP/1.1 200');
    for (const socket of large) socket.destroy();
  });

  it('with streams', async () => {
    const { anonymous, perActor } = STREAM_LIMITS;
    const stream = (host: number): ReturnType<typeof openStream> => openStream(served.port, { headers: from(host) });
    const streams: Awaited<ReturnType<typeof stream>>[] = [];
    for (let n = 0; n < anonymous; n += 1) streams.push(await stream(Math.floor(n / perActor)));
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200));
    // No address has more.
    expect((await stream(0)).status).toBe(429);
    const [newcomer, next] = [await stream(100), await stream(101)];
    expect([newcomer.status, next.status]).toEqual([200, 200]);
    // The oldest of two addresses have ended, and no others.
    await Promise.all([streams[0]?.ended, streams[perActor]?.ended]);
    const others = streams.filter((_, n) => n !== 0 && n !== perActor);
    expect(await Promise.race([...others.map(({ ended }) => ended.then(() => 'ended')), sleep(1_500, 'last')])).toBe(
      'last',
    );
    for (const one of [...streams, newcomer, next]) one.close();
  });
});
