// A gateway on a free port with a store of its own, and ways to talk to it: as a client does, and byte by byte.
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Agent, request as httpRequest, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compilePolicy } from '../../engine/compiler.js';
import {
  canonicalize,
  type Identity,
  type Instant,
  instantOf,
  isScopeName,
  loadSnapshot,
  type OwnFamily,
  type Policy,
  scopeSetOf,
} from '../../engine/index.js';
import type { AuditTrail } from '../../server/audit/trail.js';
import { createKey, type NewKey } from '../../server/auth/api-keys.js';
import { type Gateway, type GatewayMode, type GatewayOptions, startGateway } from '../../server/compose.js';
import type { RateLimits } from '../../server/config/index.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { bindSocket, bindTcp, type Bound, type Timeouts } from '../../server/http/http-server.js';
import type { ConnectionLimits } from '../../server/http/connection-table.js';
import type { SocketAt, TcpAt } from '../../server/http/listen-at.js';
import type { TlsIdentity } from '../../server/http/tls-files.js';
import type { AgeLimits } from '../../server/policy/active/staleness.js';
import type { Clock } from '../../server/lib/ports.js';
import { keptLog, type LogLine } from './kept-log.js';
import { assertNoSecret, keepSecret, lineText } from './canaries.js';
import { declaredAdminRoutes, declaredRoutes, descriptionOf } from './api-description.js';
import { checkBy, type CheckExchange } from './described-answers.js';
import { newDataDir, PATIENT } from './stores.js';

/** `[identity, namespace, scopes, reason, window]`; each becomes a grant `g1`, `g2` and so on. */
export type TestGrant = readonly [
  identity: Identity,
  namespace: string,
  scopes: readonly string[],
  reason?: string | null,
  window?: { readonly notBefore?: Instant; readonly expires?: Instant },
];

export function policyOf(grants: readonly TestGrant[]): Policy {
  return snapshotOf(grants).policy;
}

/** The file, too. */
export function snapshotOf(
  grants: readonly TestGrant[],
  name = 'test',
  families: readonly OwnFamily[] = [],
): { readonly bytes: Uint8Array; readonly policy: Policy } {
  const compiled = compilePolicy({
    name,
    families,
    providers: [...new Set(grants.map(([identity]) => identity.provider))]
      .sort()
      .map((name) => ({ name, description: null })),
    roles: [],
    grants: grants.map(([identity, namespace, scopes, reason = null, window = {}], index) => ({
      id: `g${String(index + 1)}`,
      principal: { kind: 'identity', identity },
      namespace: pathOf(namespace),
      scopes: scopeSetOf(scopes.filter(isScopeName)),
      inherit: true,
      notBefore: window.notBefore ?? null,
      expires: window.expires ?? null,
      reason,
      place: null,
    })),
    tests: [],
    people: [],
    exclusive: [],
    folders: [],
    guardrails: [],
  });
  if (!compiled.ok) throw new Error('the test policy does not compile');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.code);
  return { bytes: compiled.snapshot.bytes, policy: loaded.policy };
}

export function pathOf(text: string): NonNullable<NewKey['restrictions']>[number] {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

export interface TestGateway {
  readonly gateway: Gateway;
  readonly db: Database;
  readonly port: number;
  /** Where admins come in, if it has such places. */
  readonly admin: { readonly port: number; readonly socket: string } | null;
  readonly lines: readonly LogLine[];
  /** The text of a new key. */
  readonly key: (fields?: Partial<NewKey>) => Promise<{ readonly text: string; readonly id: string }>;
  readonly dispose: () => Promise<void>;
}

export interface TestGatewayOptions {
  readonly mode?: GatewayMode;
  readonly rate?: Partial<RateLimits>;
  /** Requests of one actor at once. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly ages?: AgeLimits;
  /** Those of the product unless given: longer than a test should take. */
  readonly timeouts?: Timeouts;
  /** Nobody has to have signed unless given. */
  readonly rule?: GatewayOptions['rule'];
  readonly connections?: ConnectionLimits;
  /** In clear text unless given. */
  readonly tls?: TlsIdentity;
  /** API keys alone unless given. */
  readonly authentication?: GatewayOptions['authentication'];
  readonly trustProxy?: readonly string[];
  readonly origins?: readonly string[];
  /** With a listener for admins and a Unix socket, too. */
  readonly admin?: true;
  /** Taken before, in place of those two. */
  readonly tcpForAdmins?: Bound<TcpAt>;
  /** A migrated store to share; one of its own unless given. */
  readonly db?: Database;
  /** Nothing is recorded unless given. */
  readonly audit?: AuditTrail;
  readonly authzen?: NonNullable<GatewayOptions['authzen']>;
}

const ADA: Identity = { provider: 'orcid', subject: 'ada' };

export async function openGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { db, disposeStore } =
    options.db === undefined ? await openStore() : { db: options.db, disposeStore: () => Promise.resolve() };
  const lines: LogLine[] = [];
  const log = keptLog(lines);
  const folder = options.admin === true ? mkdtempSync(join(tmpdir(), 'bailiwick-admin-')) : null;
  const doors = folder === null ? null : await takeAdminDoors(folder);
  const gateway = await startGateway({
    admin: doors ?? { tcp: options.tcpForAdmins ?? null, socket: null },
    mode: options.mode ?? { kind: 'serve', policy: policyOf([[ADA, '/', ['resource:read', 'namespace:read']]]) },
    db,
    listen: await bindTcp(
      { host: '127.0.0.1', port: 0 },
      {
        ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
        ...(options.connections === undefined ? {} : { connections: options.connections }),
        tls: options.tls ?? null,
      },
    ),
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0, ...options.rate },
    concurrency: { perActor: options.concurrency ?? 4 },
    log,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.ages === undefined ? {} : { ages: options.ages }),
    rule: options.rule ?? null,
    trustProxy: options.trustProxy ?? null,
    origins: options.origins ?? null,
    ...(options.authentication === undefined ? {} : { authentication: options.authentication }),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    authzen: options.authzen ?? null,
  });
  const key: TestGateway['key'] = async (fields = {}) => {
    const made = await createKey(
      db,
      { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false, ...fields },
      instantOf(Date.now()),
    );
    keepSecret(made.text);
    return { text: made.text, id: made.key.id };
  };
  const dispose = async (): Promise<void> => {
    await gateway.close();
    await disposeStore();
    if (folder !== null) await rm(folder, { recursive: true, force: true });
    for (const one of lines) assertNoSecret(lineText(one), 'a line of the log');
  };
  const admin = doors === null ? null : { port: doors.tcp.at.port, socket: doors.socket.at.path };
  return { gateway, db, port: gateway.address.port, admin, lines, key, dispose };
}

async function takeAdminDoors(
  folder: string,
): Promise<{ readonly tcp: Bound<TcpAt>; readonly socket: Bound<SocketAt> }> {
  return {
    tcp: await bindTcp({ host: '127.0.0.1', port: 0 }),
    socket: await bindSocket(join(folder, 'admin.sock')),
  };
}

async function openStore(): Promise<{ readonly db: Database; readonly disposeStore: () => Promise<void> }> {
  const dataDir = await newDataDir();
  const db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  const disposeStore = async (): Promise<void> => {
    await db.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { db, disposeStore };
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body, or null if it is empty or no JSON. */
  readonly json: Readonly<Record<string, unknown>> | null;
}

export interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly key?: string;
  /** Sent as JSON unless it is a text or bytes already. */
  readonly body?: unknown;
  readonly agent?: Agent;
}

interface Checks {
  readonly api: CheckExchange;
  readonly admin: CheckExchange;
}

declare global {
  /** Made once by a process, for all of its test files. */
  var testChecks: Checks | undefined;
}

function checks(): Checks {
  return (globalThis.testChecks ??= {
    api: checkBy(descriptionOf(declaredRoutes())),
    admin: checkBy(descriptionOf(declaredAdminRoutes())),
  });
}

/** POST /api/v1/query unless given. */
export function call(port: number, { method = 'POST', path = '/api/v1/query', ...rest }: Call): Promise<Reply> {
  return exchange({ port, host: '127.0.0.1' }, { method, path, ...rest }, checks().api);
}

/** GET /admin/v1/status unless given; `at` is a port of this machine or the path of a Unix socket. */
export function callAdmin(at: number | string, asked: Call = {}): Promise<Reply> {
  const to = typeof at === 'number' ? { port: at, host: '127.0.0.1' } : { socketPath: at };
  return exchange(to, { method: 'GET', path: '/admin/v1/status', ...asked }, checks().admin);
}

async function exchange(
  to: RequestOptions,
  { method = '', path = '', headers = {}, key, body, agent }: Call,
  check: CheckExchange,
): Promise<Reply> {
  const bytes =
    body === undefined
      ? null
      : typeof body === 'string' || Buffer.isBuffer(body)
        ? Buffer.from(body)
        : Buffer.from(JSON.stringify(body));
  const sent = {
    ...(bytes === null ? {} : { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  };
  const request = httpRequest({
    ...to,
    method,
    path,
    agent: agent ?? new Agent(),
    headers: sent,
  });
  const replied = new Promise<Reply>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const status = response.statusCode ?? 0;
        try {
          check({
            method,
            target: path,
            sent,
            body: bytes?.toString() ?? null,
            status,
            headers: response.headers,
            text,
          });
          assertNoSecret(JSON.stringify(response.headers), `the headers of ${method} ${path}`);
          // The one answer that is to hold a secret is that of the route which makes a key.
          if (status !== 201) assertNoSecret(text, `the answer to ${method} ${path}`);
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
        resolve({
          status,
          headers: response.headers,
          text,
          json: isJson(response.headers['content-type']) && text !== '' ? readObject(text) : null,
        });
      });
    });
  });
  if (bytes !== null) request.write(bytes);
  request.end();
  return replied;
}

const isJson = (type = ''): boolean => /^application\/(?:[\w.-]+\+)?json\b/.test(type);

function readObject(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error('the answer is not an object');
  return Object.fromEntries(Object.entries(value));
}

/** Writes bytes to a new connection and gives everything that comes back until the other side closes it. */
export async function raw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await openSocket(port);
  socket.write(bytes);
  return readToEnd(socket);
}

export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
}

export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A reset after the answer is how a refused connection may end.
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => {
    socket.once('close', () => {
      resolve();
    });
  });
  return Buffer.concat(chunks).toString('latin1');
}
