// What happens to a request once its work is done: a change that is stored is told, whatever else has failed meanwhile.
import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { openTrail, type Recorder } from '../../../server/audit/trail.js';
import { bindTcp, type GatewayServices, listen, makeServices } from '../../../server/compose.js';
import { Connection } from '../../../server/http/connection.js';
import { anyHost } from '../../../server/http/host-guard.js';
import { makeRequestAudit } from '../../../server/http/request-audit.js';
import { toldToEach } from '../../../server/http/request-observer.js';
import type { ActorRoute, AdminRoute, StatusRoute } from '../../../server/http/route.js';
import { makeIdSource, systemClock } from '../../../server/lib/ports.js';
import { ApiProblem } from '../../../server/problem.js';
import { HTTP_LIMITS, SHARE_LIMITS } from '../../../server/limits/http.js';
import { readLines } from '../../support/audit-log.js';
import { openGateway, openSocket, policyOf, type TestGateway } from '../../support/gateway.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { openInProcess } from '../../support/in-process.js';
import { makeFolder } from '../../support/temp-folder.js';
import { until } from '../../support/until.js';

const OUTPUT = { 201: { type: 'application/json', schema: { type: 'object' } } };
const OK = { status: 201, json: '{}' };
let open: TestGateway;
let services: GatewayServices;
let lines: LogLine[];
let actor: { readonly authorization: string };
let admin: { readonly authorization: string };

beforeAll(async () => {
  open = await openGateway();
  actor = { authorization: `Bearer ${(await open.key()).text}` };
  const root = { actor: 'root', identities: [], scopes: null, restrictions: null, expires: null, admin: true };
  admin = { authorization: `Bearer ${(await open.key(root)).text}` };
});
beforeEach(async () => {
  lines = [];
  services = await makeServices({
    mode: { kind: 'serve', policy: policyOf([]) },
    db: open.db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 4 },
    log: keptLog(lines),
  });
});
afterEach(async () => {
  await services.close();
});
afterAll(async () => {
  await open.dispose();
});

/** While it is at work, others fill all that its actor may leave unread. */
const filling = (which: 'actors' | 'admins', name: string) => () => {
  const shares = which === 'actors' ? services.shares.actors : services.shares.admins.admin;
  shares.hold(name, 2 * SHARE_LIMITS.unreadBytes);
  shares.hold('others', 4 * SHARE_LIMITS.actorsUnreadBytes);
  return Promise.resolve(OK);
};
const told = { method: 'POST', operationId: 'test', summary: 'A test', input: {}, output: OUTPUT } as const;

it('is answered although nobody has room for the answer any more, for whoever has changed something', async () => {
  const command: ActorRoute = { ...told, path: '/made', access: 'command', run: filling('actors', 'ada') };
  const administers: AdminRoute = { ...told, path: '/admin', access: 'admin', run: filling('admins', 'root') };
  const ask = openInProcess(services, [command, administers]);
  expect((await ask({ method: 'POST', url: '/made', headers: actor })).status).toBe(201);
  expect((await ask({ method: 'POST', url: '/admin', headers: admin })).status).toBe(201);
});

it('keeps no admin out, whatever monitoring leaves unread, and not the socket, whatever admins do', async () => {
  const text = JSON.stringify('a'.repeat(SHARE_LIMITS.unreadBytes));
  const output = { 200: { type: 'application/json', schema: {} }, ...OUTPUT } as const;
  const shown = { ...told, method: 'GET', output } as const;
  const watched: StatusRoute = {
    ...shown,
    path: '/watched',
    access: 'status',
    answer: () => Promise.resolve({ status: 200, json: text }),
  };
  const listed: AdminRoute = {
    ...shown,
    path: '/listed',
    operationId: 'other',
    access: 'admin',
    run: () => Promise.resolve(OK),
  };
  const ask = openInProcess(services, [watched, listed]);
  for (const name of ['one', 'two']) {
    const { text: key } = await open.key({ actor: name, identities: [], monitor: true });
    // Nobody reads the answers.
    const { status } = await ask({ url: '/watched', headers: { authorization: `Bearer ${key}` } });
    expect(status).toBe(200);
  }
  expect((await ask({ url: '/listed', headers: admin })).status).toBe(201);
  services.shares.admins.admin.hold('others', SHARE_LIMITS.adminsUnreadBytes);
  expect((await ask({ url: '/listed', headers: admin })).status).toBe(503);
  const atSocket = openInProcess({ ...services, ...services.bySocket }, [watched, listed]);
  expect((await atSocket({ url: '/listed' })).status).toBe(201);
});

it('that only read is asked to come back', async () => {
  const read: ActorRoute = { ...told, path: '/read', access: 'self', run: filling('actors', 'ada') };
  const ask = openInProcess(services, [read]);
  expect(await ask({ method: 'POST', url: '/read', headers: actor })).toMatchObject({
    status: 429,
    json: { code: 'limit.rate' },
  });
});

it('takes no room of its actor if the client has left meanwhile, however large its answer is', async () => {
  let [hasBegun, isOver] = [false, false];
  const large: ActorRoute = {
    ...told,
    path: '/made',
    access: 'command',
    run: async () => {
      hasBegun = true;
      await until(() => isOver);
      return { status: 201, json: JSON.stringify({ a: 'a'.repeat(4 * HTTP_LIMITS.pieceBytes) }) };
    },
  };
  const at = await bindTcp({ host: '127.0.0.1', port: 0 });
  const listener = await listen(services, { routes: [large], manner: { guard: anyHost }, at });
  const socket = await openSocket(listener.at.port);
  socket.write(`POST /made HTTP/1.1\r\nHost: a\r\nAuthorization: ${actor.authorization}\r\n\r\n`);
  await until(() => hasBegun);
  socket.destroy();
  await until(() => at.connections().known === 0);
  isOver = true;
  await until(() => lines.some(({ message }) => message === 'request'));
  // There would be no room beside a single byte that counts as unread.
  services.shares.actors.checkRoom('ada', 2 * SHARE_LIMITS.unreadBytes);
  await listener.close();
});

it('is recorded if it was refused, although the client has left meanwhile; what only failed then is not', async () => {
  const folder = await makeFolder();
  const trail = await openTrail({
    ...{ folder, db: open.db, queries: 'all', onFailure: 'refuse', lag: 10_000, log: keptLog([]) },
    ...{ clock: systemClock, nextId: makeIdSource() },
  });
  let begun = 0;
  let isOver = false;
  const end = (problem: ApiProblem): ActorRoute['run'] => {
    return async () => {
      begun += 1;
      await until(() => isOver);
      throw problem;
    };
  };
  const route = { ...told, access: 'command' } as const;
  const denied: ActorRoute = { ...route, path: '/denied', run: end(new ApiProblem('authz.denied')) };
  const failed: ActorRoute = {
    ...route,
    path: '/failed',
    operationId: 'other',
    run: end(new ApiProblem('db.timeout')),
  };
  const audit = makeRequestAudit(trail, keptLog(lines));
  const at = await bindTcp({ host: '127.0.0.1', port: 0 });
  const listener = await listen({ ...services, audit }, { routes: [denied, failed], manner: { guard: anyHost }, at });
  for (const path of ['/denied', '/failed']) {
    const socket = await openSocket(listener.at.port);
    const before = begun;
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${actor.authorization}\r\n\r\n`);
    await until(() => begun > before);
    socket.destroy();
  }
  await until(() => at.connections().known === 0);
  isOver = true;
  await until(() => lines.filter(({ message }) => message === 'the client went away').length === 2);
  await listener.close();
  await trail.close();
  const events = readLines(folder).map((line): unknown => JSON.parse(line));
  expect(events).toMatchObject([{ kind: 'authentication' }, { kind: 'refusal', status: 403, actor: { id: 'ada' } }]);
});

it('is answered although the audit log and an observer fail, and each of them says so', async () => {
  const broken: Recorder = {
    queries: 'all',
    record: () => {
      throw new TypeError('canary of the audit log');
    },
    recordOwn: () => undefined,
    takePlace: () => null,
    noteLost: (events) => {
      lost += events;
    },
    checkQueries: () => undefined,
    checkCommands: () => undefined,
    wake: () => {
      throw new TypeError('canary of the audit log');
    },
    counts: () => ({ written: 0, lost: 0 }),
    fault: () => null,
    lags: () => ({ file: 0, store: 0 }),
  };
  let lost = 0;
  const failing = (): void => {
    throw new TypeError('canary of an observer');
  };
  const seen: number[] = [];
  const log = { error: (fields: object, message: string) => void lines.push({ ...fields, level: 'error', message }) };
  const observer = toldToEach(
    [
      { answered: failing, abandoned: failing, refused: failing, handshakeFailed: failing },
      { ...services.observer, answered: (_, status) => void seen.push(status) },
    ],
    log,
  );
  const command: ActorRoute = { ...told, path: '/made', access: 'command', run: () => Promise.resolve(OK) };
  const ask = openInProcess({ ...services, observer, audit: makeRequestAudit(broken, log) }, [command]);
  expect((await ask({ method: 'POST', url: '/made', headers: actor })).status).toBe(201);
  expect(await ask({ method: 'POST', url: '/made', headers: { authorization: 'Bearer bwk_no' } })).toMatchObject({
    status: 401,
    json: { code: 'auth.invalid' },
  });
  expect(seen).toEqual([201, 401]);
  // The first use of the key, the command, and the failed login.
  expect(lost).toBe(3);
  expect(lines.filter(({ message }) => message.includes('bug of bailiwick'))).toHaveLength(5);
});

it('of a client with a link-local address is recorded without the zone', () => {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: 'fe80::1%eth0' });
  const quiet = { isLeaving: () => false, writeTimeout: 1, onKnown: () => undefined, onCut: () => undefined };
  expect(new Connection(socket, quiet).address).toBe('fe80::1');
  socket.destroy();
});
