// The listening socket: an address, taken before there is anything to serve on it; Node's limits and timeouts;
// connections that never become a request; and an orderly end.
import { createServer, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HTTP_LIMITS, TLS_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import type { App } from './app.js';
import { type ConnectionOptions, connectionOf, findConnection, openConnection } from './connection.js';
import { answerHeaders, PROBLEM_TYPE, problemText } from './exchange.js';
import {
  bearAsExpress,
  type GatewayRequest,
  type GatewayResponse,
  isGatewayResponse,
  type MessageClasses,
  messageClasses,
} from './http-message.js';
import { type At, listenOnSocket, listenOnTcp, type SocketAt, type TcpAt } from './listen-at.js';
import type { Refusal, Ungreeted } from './request-observer.js';
import type { TlsIdentity } from './tls-files.js';

/** An address that is ours. Clients that connect before it is served are turned away, as if nobody were listening. */
export interface Bound<Where extends At = At> {
  /** Includes the port that was actually taken. */
  readonly at: Where;
  /** Call this once. */
  readonly serve: (service: HttpService) => void;
  /**
   * Keeps answering requests, but ends each connection with its answer, so that clients go elsewhere before the
   * listener closes.
   */
  readonly leave: () => void;
  /**
   * Accepts no more connections, gives requests in flight `patience` milliseconds to end, then cuts the rest. Safe to
   * call twice.
   */
  readonly close: (patience?: number) => Promise<void>;
  readonly isClosing: () => boolean;
  /** Whether the listener is leaving or already closing. */
  readonly isLeaving: () => boolean;
}

export interface HttpService {
  readonly app: App;
  readonly currentDigest: () => string;
  readonly nextId: () => string;
  /** Told of each request that was refused before it could be read. */
  readonly onRefused: (refusal: Refusal) => void;
  /** Told of each client whose TLS handshake failed. */
  readonly onUngreeted: (client: Ungreeted) => void;
}

/** How long a listener waits for each of these, in milliseconds. */
export type Timeouts = Readonly<
  Record<'headersTimeout' | 'requestTimeout' | 'timeoutCheckInterval' | 'writeTimeout', number>
>;

/**
 * Takes an address, in clear text unless there is a certificate. Port 0 means any free port. Rejects with Node's error
 * if it cannot be taken (`EADDRINUSE`, `EACCES`).
 */
export function bindTcp(
  { host, port }: { readonly host: string; readonly port: number },
  { timeouts = HTTP_LIMITS, tls = null }: { readonly timeouts?: Timeouts; readonly tls?: TlsIdentity | null } = {},
): Promise<Bound<TcpAt>> {
  const kind = tls === null ? 'tcp' : 'tls';
  return bind((server) => listenOnTcp(server, { kind, host, port }), { timeouts, tls });
}

export function bindSocket(path: string, timeouts: Timeouts = HTTP_LIMITS): Promise<Bound<SocketAt>> {
  return bind((server) => listenOnSocket(server, path), { timeouts, tls: null });
}

interface ServerOptions {
  readonly timeouts: Timeouts;
  readonly tls: TlsIdentity | null;
}

async function bind<Where extends At>(
  take: (server: HttpServer) => Promise<Where>,
  options: ServerOptions,
): Promise<Bound<Where>> {
  const classes = messageClasses();
  const server = makeServer(classes, options);
  const turnAway = (socket: Socket): void => {
    socket.destroy();
  };
  server.on('connection', turnAway);
  const at = await take(server);
  const silent = new Set<Socket>();
  let closing: Promise<void> | null = null;
  let left = false;
  const isLeaving = (): boolean => left || closing !== null;
  return {
    at,
    isClosing: () => closing !== null,
    isLeaving,
    serve: (service) => {
      server.off('connection', turnAway);
      serve(server, classes, { ...service, silent, isLeaving, writeTimeout: options.timeouts.writeTimeout });
    },
    leave: () => {
      left = true;
    },
    close: (patience = HTTP_LIMITS.drainTimeout) => (closing ??= drain(server, silent, patience)),
  };
}

type HttpServer = Server<typeof GatewayRequest, typeof GatewayResponse>;

function makeServer(classes: MessageClasses, { timeouts, tls }: ServerOptions): HttpServer {
  const options = {
    ...classes,
    maxHeaderSize: HTTP_LIMITS.headerBytes,
    headersTimeout: timeouts.headersTimeout,
    requestTimeout: timeouts.requestTimeout,
    keepAliveTimeout: HTTP_LIMITS.keepAliveTimeout,
    connectionsCheckingInterval: timeouts.timeoutCheckInterval,
    // Checked with the other headers, so that this refusal looks like every other.
    requireHostHeader: false,
    noDelay: true,
  };
  const server = tls === null ? createServer(options) : makeTlsServer(options, tls);
  server.maxConnections = HTTP_LIMITS.connections;
  server.maxRequestsPerSocket = HTTP_LIMITS.requestsPerSocket;
  // No limit on the number: Node would silently drop the headers beyond it. Node limits their bytes, and readHeaders
  // counts them.
  server.maxHeadersCount = 0;
  server.timeout = HTTP_LIMITS.idleSocketTimeout;
  return server;
}

function makeTlsServer(options: MessageClasses, tls: TlsIdentity): HttpServer {
  const server = createTlsServer({
    ...options,
    ...tls.context(),
    handshakeTimeout: TLS_LIMITS.handshakeTimeout,
    // A client with a bad certificate gets an answer that says so. Without a list of authorities of our own, the
    // system's would count.
    requestCert: tls.asksClients,
    rejectUnauthorized: false,
  });
  tls.onRenewed((context) => {
    server.setSecureContext(context);
  });
  return server;
}

interface OpenService extends HttpService, ConnectionOptions {
  /** Clients that have connected but not sent a request yet. */
  readonly silent: Set<Socket>;
}

function serve(server: HttpServer, classes: MessageClasses, service: OpenService): void {
  const { app, silent } = service;
  bearAsExpress(classes, app.express);
  // Under TLS, requests come on a socket that only exists once the handshake is done.
  const accepted = 'setSecureContext' in server ? 'secureConnection' : 'connection';
  server.on(accepted, (socket: Socket) => {
    openConnection(socket, service);
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, ({ socket }: GatewayRequest) => silent.delete(socket));
  server.on('request', app.take);
  server.on('checkContinue', (request, response) => {
    request.leave = () => {
      response.writeContinue();
    };
    app.take(request, response);
  });
  server.on('checkExpectation', app.take);
  server.on('connect', (_, socket) => {
    refuse(service, socket, new ApiProblem('request.method'));
  });
  server.on('clientError', (error: ClientError, socket) => {
    if (socket instanceof Socket && findConnection(socket) === null) turnAwayUngreeted(service, socket, error);
    else refuse(service, socket, problemOf(error));
  });
}

/** A client whose TLS handshake failed. There is no connection to answer it on. */
function turnAwayUngreeted(service: HttpService, socket: Socket, { code = 'unknown' }: ClientError): void {
  const address = socket.remoteAddress ?? null;
  socket.destroy();
  // Clients that only check whether somebody listens are not logged.
  if (code !== 'ECONNRESET') service.onUngreeted({ address, reason: code });
}

interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

function problemOf({ code, rawPacket }: ClientError): ApiProblem {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiProblem('request.timeout');
  if (code !== 'HPE_HEADER_OVERFLOW') return new ApiProblem('request.malformed');
  const isLong = rawPacket !== undefined && isLongTarget(rawPacket);
  return new ApiProblem(isLong ? 'request.uri_too_long' : 'request.headers_too_large');
}

/** Whether the request line by itself was too long. */
function isLongTarget(packet: Buffer): boolean {
  const end = packet.indexOf('\n');
  return /^[A-Z]+ \S*$/.test(packet.toString('latin1', 0, 64)) && (end < 0 || end > HTTP_LIMITS.targetCharacters);
}

/**
 * Ends a connection on which something cannot be read. An answer is sent only if the client cannot take it for that of
 * another request.
 */
function refuse(service: OpenService, socket: Duplex, problem: ApiProblem): void {
  const connection = socket instanceof Socket ? connectionOf(socket) : null;
  // A connection ends, and is told so, only once.
  if (connection === null || connection.fault !== null) return;
  const current = responseOn(socket);
  // A client whose connection has broken cannot be answered. Whoever waits for it learns of that from the socket.
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  connection.fail(problem);
  // A request that cannot be read to its end gets its own answer, or has been refused already.
  if (current !== null && !current.req.complete) return;
  const requestId = service.nextId();
  service.onRefused({ requestId, address: connection.address, problem });
  if (current === null) writeRefusal(socket, problem, { requestId, snapshot: service.currentDigest() });
  // The answer under way belongs to an earlier request, and is the last one.
  else if (current.headersSent) socket.end();
}

/** The answer that is being sent on the connection. */
function responseOn(socket: Duplex): GatewayResponse | null {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return isGatewayResponse(message) ? message : null;
}

function writeRefusal(
  socket: Duplex,
  problem: ApiProblem,
  { requestId, snapshot }: { readonly requestId: string; readonly snapshot: string },
): void {
  const body = problemText(problem, requestId);
  const headers = answerHeaders(snapshot, requestId);
  const lines = [
    `HTTP/1.1 ${String(problem.status)} ${STATUS_CODES[problem.status] ?? ''}`,
    'Connection: close',
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${String(Buffer.byteLength(body))}`,
  ];
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`);
  socket.on('error', () => undefined);
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  // The peer may never close its side.
  setTimeout(() => socket.destroy(), HTTP_LIMITS.discardTimeout).unref();
}

/** Closes clients that never sent a request by itself, because Node takes them for busy ones. */
async function drain(server: HttpServer, silent: ReadonlySet<Socket>, patience: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  const hush = setTimeout(() => {
    for (const socket of silent) socket.destroy();
  }, HTTP_LIMITS.drainSilence);
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, patience);
  await closed;
  clearTimeout(hush);
  clearTimeout(cut);
}
