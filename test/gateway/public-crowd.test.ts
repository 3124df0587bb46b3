// Many who read without a credential, from a few addresses: what they leave unread and what they ask for at once keeps
// nobody else from being answered.
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
beforeAll(async () => {
  open = await openGateway();
  services = await makeServices({
    mode: { kind: 'serve', policy: policyOf([[ANYONE, '/', ['resource:read']]]) },
    db: open.db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: PER_ACTOR },
    authentication: {
      keys: { enabled: true },
      ...{ oidc: [], introspection: [], mtls: null, revocationsFile: null },
      anonymous: { identity: ANYONE },
    },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
});
afterAll(async () => {
  await services.close();
  await open.dispose();
});

it('who read slowly lose their connections to those who come, however few addresses they have', async () => {
  const page: ActorRoute = {
    ...{ method: 'GET', path: '/page', access: 'self', operationId: 'test', summary: 'A test', input: {} },
    output: { 200: { type: 'application/json', schema: { type: 'object' } } },
    run: () => Promise.resolve({ status: 200, json: JSON.stringify({ a: 'a'.repeat(LARGE) }) }),
  };
  const at = await bindTcp({ host: '127.0.0.1', port: 0 });
  const listener = await listen(services, { routes: [page], manner: { guard: anyHost }, at });
  const ask = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: listener.at.port, localAddress });
    await once(socket, 'connect');
    socket.on('error', () => undefined).write('GET /page HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    return socket;
  };
  const slow: Socket[] = [];
  for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.2', '127.0.0.3']) {
    const socket = await ask(address);
    await once(socket, 'data');
    socket.pause();
    slow.push(socket);
  }
  expect(slow.length * LARGE).toBeGreaterThan(SHARE_LIMITS.anonymousUnreadBytes);
  const answer = await readToEnd(await ask('127.0.0.4'));
  expect(answer.slice(0, 12)).toBe('HTTP/1.1 200');
  expect(answer.length).toBeGreaterThan(LARGE);
  for (const socket of slow) socket.destroy();
  await until(() => at.connections().strangers === 0);
  await listener.close();
});

it('leave connections of the store to others, whatever they ask for', async () => {
  const most = open.db.pools().find(({ name }) => name === 'read')?.max ?? 0;
  const leaving = new AbortController();
  let begun = 0;
  const asked = Array.from({ length: 3 * PER_ACTOR }, (_, index) =>
    services.shares.anonymous.enter(`address ${String(index % 3)}`, { gone: leaving.signal }).then(
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
});
