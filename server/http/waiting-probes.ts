// What answers at the addresses for admins while the gateway waits for its store: it is alive (/livez) and not ready, and
// its status says what it waits for. So supervisors do not end it because it waits. Every other request there is
// answered 503.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { randomUUID } from 'node:crypto';
import { formatInstant, type Instant } from '../../engine/index.js';
import { programVersion } from '../lib/version.js';
import { HTTP_LIMITS } from '../limits/http.js';
import { formatSeries, METRICS_TYPE, type Series } from '../metrics/series.js';
import { ApiProblem } from '../problem.js';
import { PROBLEM_TYPE, problemText } from './exchange.js';
import { type HostGuard, isLoopback, loopbackHost, noPage } from './host-guard.js';
import { listenOnSocket, listenOnTcp, type TcpAt } from './listen-at.js';
import type { TlsIdentity } from './tls-files.js';

const OPTIONS = {
  maxHeaderSize: HTTP_LIMITS.headerBytes,
  headersTimeout: HTTP_LIMITS.headersTimeout,
  requestTimeout: HTTP_LIMITS.requestTimeout,
  connectionsCheckingInterval: HTTP_LIMITS.timeoutCheckInterval,
  requireHostHeader: false,
};

/** What status says of a gateway that waits. */
interface WaitingFacts {
  readonly startedAt: Instant;
  readonly store: 'embedded' | 'external';
  /** Why the store cannot be used yet. */
  readonly reason: () => string;
  /** For /metrics, which needs no credential: it says no more than /readyz does. */
  readonly readSeries: () => Promise<readonly Series[]>;
}

export const WAITING_CHECKS = Object.freeze({ store: 'failed' });

export type EndProbes = () => Promise<void>;

/** Resolves to the function that ends it. Rejects with Node's error if the address cannot be bound. */
export async function answerProbes(
  { host, port }: { readonly host: string; readonly port: number },
  { tls, facts }: { readonly tls: TlsIdentity | null; readonly facts: WaitingFacts },
): Promise<EndProbes> {
  let status: StatusAnswer = () => null;
  const listener = listenerOf(facts, (...asked) => status(...asked));
  const server = tls === null ? createServer(OPTIONS, listener) : makeTlsServer(tls, listener);
  server.maxConnections = HTTP_LIMITS.connectionsOfAddress;
  const at: TcpAt = { kind: tls === null ? 'tcp' : 'tls', host, port };
  const bound = await listenOnTcp(server, at);
  // Elsewhere status needs a key, which nobody can look up now.
  if (isLoopback(bound.host)) status = statusOf(facts, loopbackHost(bound));
  return endOf(server);
}

function makeTlsServer(tls: TlsIdentity, listener: RequestListener): Server {
  const server = createTlsServer({ ...OPTIONS, ...tls.context() }, listener);
  tls.onRenewed((context) => {
    server.setSecureContext(context);
  });
  return server;
}

/** The same on the Unix socket of the gateway's own user. */
export async function answerOnSocket(path: string, facts: WaitingFacts): Promise<EndProbes> {
  const server = createServer(OPTIONS, listenerOf(facts, statusOf(facts, noPage)));
  await listenOnSocket(server, path);
  return endOf(server);
}

const endOf = (server: Server) => (): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });

type Answered = readonly [status: number, type: string, text: string];

/** What a GET of this path is answered; null if that is nothing special. Throws `ApiProblem`. */
type StatusAnswer = (path: string, host: string, origin: string | undefined) => Answered | null;

const JSON_TYPE = 'application/json';

function statusOf({ startedAt, store, reason }: WaitingFacts, guard: HostGuard): StatusAnswer {
  const version = programVersion();
  return (path, host, origin) => {
    if (path !== '/admin/v1/status') return null;
    guard(host, origin);
    const since = { version, startedAt: formatInstant(startedAt) };
    const status = {
      ...since,
      ready: false,
      checks: WAITING_CHECKS,
      waiting: reason(),
      store: { kind: store, ok: false },
    };
    return [200, JSON_TYPE, JSON.stringify(status)];
  };
}

function refusal(problem: ApiProblem, requestId: string): Answered {
  return [problem.status, PROBLEM_TYPE, problemText(problem, requestId)];
}

const unavailable = (): ApiProblem => new ApiProblem('db.unavailable', { retryAfter: 1 });

function listenerOf({ readSeries }: WaitingFacts, status: StatusAnswer): RequestListener {
  const answer = async ({ method, url, headers }: IncomingMessage, requestId: string): Promise<Answered> => {
    const path = url?.split('?', 1)[0] ?? '';
    if (method !== 'GET' && method !== 'HEAD') return refusal(unavailable(), requestId);
    if (path === '/livez') return [200, JSON_TYPE, JSON.stringify({ status: 'ok', checks: {} })];
    if (path === '/readyz') return [503, JSON_TYPE, JSON.stringify({ status: 'failed', checks: WAITING_CHECKS })];
    if (path === '/metrics') return [200, METRICS_TYPE, formatSeries(await readSeries())];
    try {
      return status(path, headers.host ?? '', headers.origin) ?? refusal(unavailable(), requestId);
    } catch (error) {
      if (error instanceof ApiProblem) return refusal(error, requestId);
      throw error;
    }
  };
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = randomUUID();
    send(response, await answer(request, requestId), requestId);
  };
  return (request, response) => void respond(request, response);
}

function send(response: ServerResponse, [code, type, text]: Answered, requestId: string): void {
  response
    .writeHead(code, {
      'Content-Type': type,
      'Content-Length': Buffer.byteLength(text),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      Connection: 'close',
      ...(code === 503 && type === PROBLEM_TYPE ? { 'Retry-After': '1' } : {}),
    })
    .end(text);
}

/** Answers a request that comes before there is anything to serve. */
export function turnAway(_request: IncomingMessage, response: ServerResponse): void {
  const requestId = randomUUID();
  send(response, refusal(new ApiProblem('starting', { retryAfter: 1 }), requestId), requestId);
}
