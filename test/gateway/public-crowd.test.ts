// Many who read nothing of their answers, with a credential or without one: what they leave unread and what they ask for
// at once keeps nobody else from being answered.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { bindTcp, type GatewayServices, listen, makeServices } from '../../server/compose.js';
import { anyHost } from '../../server/http/host-guard.js';
import type { ActorRoute } from '../../server/http/route.js';
import { SHARE_LIMITS } from '../../server/limits/http.js';
import { openGateway, policyOf, readToEnd, type TestGateway } from '../support/gateway.js';
import { until } from '../support/until.js';

const ANYONE = { provider: 'public', subject: 'anyone' };
/** More than a system takes over for a client that reads nothing. */
const LARGE = 24 * 1024 * 1024;
const PER_ACTOR = 4;

let open: TestGateway;
let services: GatewayServices;

function servicesFor(perActor: number): Promise<GatewayServices> {
  return makeServices({
    mode: { kind: 'serve', policy: policyOf([[ANYONE, '/', ['resource:read']]]) },
    db: open.db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor },
    authentication: {
      keys: { enabled: true },
      ...{ oidc: [], introspection: [], mtls: null, revocationsFile: null },
      anonymous: { identity: ANYONE },
    },
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
    const asked = Array.from({ length: 3 * PER_ACTOR }, (_, index) =>
      own.shares.anonymous.enter(`address ${String(index % 3)}`, { gone: leaving.signal }).then(
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
