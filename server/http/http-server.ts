// The listening socket: an address, opened once there is something to serve on it; Node's limits and timeouts;
// connections that never become a request; and an orderly end.
import { createServer, type Server, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HTTP_LIMITS, TLS_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import type { App } from './app.js';
import { type ConnectionOptions, connectionOf, type CutReason, findConnection, openConnection } from './connection.js';
import {
  type ConnectionFacts,
  type ConnectionLimits,
  type ConnectionTable,
  makeConnectionTable,
} from './connection-table.js';
import { answerHeaders, PROBLEM_TYPE, problemText } from './exchange.js';
import {
  bearAsExpress,
  type GatewayRequest,
  type GatewayResponse,
  isGatewayResponse,
  type MessageClasses,
  messageClasses,
} from './http-message.js';
import { checkTcp, type ListenAt, listenOnSocket, listenOnTcp, type SocketAt, type TcpAt } from './listen-at.js';
import type { RefusedRequest, FailedHandshake } from './request-observer.js';
import type { TlsIdentity } from './tls-files.js';

/** An address to serve. A TCP address is free when this is made, and opened by `serve`. */
export interface Bound<Where extends ListenAt = ListenAt> {
  /** Once it is served, this includes the port that was assigned. */
  readonly at: Where;
  /** Call this once. Rejects with Node's error if the address cannot be bound. */
  readonly serve: (service: HttpService) => Promise<void>;
  readonly connections: () => ConnectionFacts;
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
  readonly onRefused: (refusal: RefusedRequest) => void;
  /** Told of each client whose TLS handshake failed. */
  readonly onHandshakeFailed: (client: FailedHandshake) => void;
  /** Told of each connection that the gateway ends although nothing on it is wrong. */
  readonly onCut: (reason: CutReason) => void;
  /** Told once when there is no place for another connection. */
  readonly onFull: (facts: ConnectionFacts) => void;
}

/** How long a listener waits for each of these, in milliseconds. */
export type Timeouts = Readonly<
  Record<'headersTimeout' | 'requestTimeout' | 'timeoutCheckInterval' | 'writeTimeout', number>
>;

export interface ListenOptions {
  readonly timeouts?: Timeouts;
  readonly tls?: TlsIdentity | null;
  readonly connections?: ConnectionLimits;
}

/**
 * An address in clear text unless there is a certificate. Port 0 means any free port. Rejects with Node's error if it
 * cannot be bound (`EADDRINUSE`, `EACCES`).
 */
export async function bindTcp(
  { host, port }: { readonly host: string; readonly port: number },
  { tls = null, ...options }: ListenOptions = {},
): Promise<Bound<TcpAt>> {
  await checkTcp({ host, port });
  return sharedTcp({ host, port }, { ...options, tls });
}

/** The same for a worker. Others of its gateway may listen there already. */
export function sharedTcp(
  { host, port }: { readonly host: string; readonly port: number },
  { tls = null, ...options }: ListenOptions = {},
): Bound<TcpAt> {
  const asked: TcpAt = { kind: tls === null ? 'tcp' : 'tls', host, port };
  return makeBound(makeListener({ ...options, tls }), { asked, open: (server) => listenOnTcp(server, asked) });
}

/** Taken at once. Clients that connect before it is served are turned away, as if nobody were listening. */
export async function bindSocket(path: string, timeouts: Timeouts = HTTP_LIMITS): Promise<Bound<SocketAt>> {
  const listener = makeListener({ timeouts, tls: null });
  const turnAway = (socket: Socket): void => {
    socket.destroy();
  };
  listener.server.on('connection', turnAway);
  const at = await listenOnSocket(listener.server, path);
  return makeBound(listener, {
    asked: at,
    open: (server) => {
      server.off('connection', turnAway);
      return Promise.resolve(at);
    },
  });
}

/** A server that does not listen yet. */
interface HttpListener {
  readonly server: HttpServer;
  readonly classes: MessageClasses;
  readonly timeouts: Timeouts;
  readonly limits: ConnectionLimits;
}

const USUAL_CONNECTIONS: ConnectionLimits = {
  total: HTTP_LIMITS.connections,
  perAddress: HTTP_LIMITS.connectionsOfAddress,
  isProxy: () => false,
};

function makeListener({
  timeouts = HTTP_LIMITS,
  tls = null,
  connections: limits = USUAL_CONNECTIONS,
}: ListenOptions): HttpListener {
  const classes = messageClasses();
  return { server: makeServer(classes, { timeouts, tls }), classes, timeouts, limits };
}

interface Opening<Where> {
  readonly asked: Where;
  readonly open: (server: HttpServer) => Promise<Where>;
}

function makeBound<Where extends ListenAt>(listener: HttpListener, { asked, open }: Opening<Where>): Bound<Where> {
  const { server, limits, timeouts } = listener;
  let at = asked;
  const silent = new Set<Socket>();
  let table: ConnectionTable | null = null;
  let closing: Promise<void> | null = null;
  let left = false;
  const isLeaving = (): boolean => left || closing !== null;
  return {
    get at() {
      return at;
    },
    isClosing: () => closing !== null,
    isLeaving,
    connections: () => table?.facts() ?? { max: limits.total, known: 0, strangers: 0 },
    serve: async (service) => {
      const { onCut, onFull } = service;
      const isIdle = (socket: Socket): boolean => responseOn(socket) === null;
      const made = (table = makeConnectionTable({ ...limits, isIdle, onCut, onFull }));
      const { writeTimeout } = timeouts;
      serve(listener, { ...service, silent, isLeaving, writeTimeout, table: made, onKnown: made.known });
      at = await open(server);
    },
    leave: () => {
      left = true;
    },
    close: (patience = HTTP_LIMITS.drainTimeout) => (closing ??= drain(server, silent, patience)),
  };
}

type HttpServer = Server<typeof GatewayRequest, typeof GatewayResponse>;

function makeServer(
  classes: MessageClasses,
  { timeouts, tls }: Required<Pick<ListenOptions, 'timeouts' | 'tls'>>,
): HttpServer {
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
  readonly table: ConnectionTable;
}

function serve({ server, classes }: HttpListener, service: OpenService): void {
  const { app, silent, table } = service;
  bearAsExpress(classes, app.express);
  const expectRequest = (socket: Socket): void => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  };
  const accept = (socket: Socket): void => {
    openConnection(socket, service);
    expectRequest(socket);
  };
  const isTls = 'setSecureContext' in server;
  server.on('connection', (socket: Socket) => {
    if (!table.take(socket)) return;
    if (isTls) expectRequest(socket);
    else accept(socket);
  });
  // Under TLS, requests come on a socket that only exists once the handshake is done.
  if (isTls) {
    server.on('secureConnection', (socket: Socket) => {
      const connected = table.secured(socket);
      if (connected !== null) silent.delete(connected);
      accept(socket);
    });
  }
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const)
    server.on(event, ({ socket }: GatewayRequest) => silent.delete(socket));
  server.on('request', (request, response) => {
    inTurn(request, response, () => {
      app.take(request, response);
    });
  });
  server.on('checkContinue', (request, response) => {
    request.leave = () => {
      response.writeContinue();
    };
    inTurn(request, response, () => {
      app.take(request, response);
    });
  });
  server.on('checkExpectation', (request, response) => {
    inTurn(request, response, () => {
      app.take(request, response);
    });
  });
  server.on('connect', (_, socket) => {
    refuse(service, socket, new ApiProblem('request.method'));
  });
  server.on('clientError', (error: ClientError, socket) => {
    if (socket instanceof Socket && findConnection(socket) === null) refuseFailedHandshake(service, socket, error);
    else refuse(service, socket, problemOf(error));
  });
}

/**
 * Begins a request once the client has read the answers to all earlier requests of its connection. So a connection
 * never holds more than one answer.
 */
function inTurn(request: GatewayRequest, response: GatewayResponse, begin: () => void): void {
  // Node gives a response its socket when the one before has left.
  if (response.socket !== null) {
    begin();
    return;
  }
  const { socket } = request;
  const connection = connectionOf(socket);
  connection.newest = request;
  connection.waiting += 1;
  if (connection.waiting > HTTP_LIMITS.pipelined) {
    connection.cut('pipelined');
    return;
  }
  response.once('socket', () => {
    connection.waiting -= 1;
    if (connection.waiting === 0) connection.newest = null;
    // Node goes on with the response after this event.
    process.nextTick(() => {
      if (!socket.destroyed) begin();
    });
  });
}

/** A client whose TLS handshake failed. There is no connection to answer it on. */
function refuseFailedHandshake(service: HttpService, socket: Socket, { code = 'unknown' }: ClientError): void {
  const address = socket.remoteAddress ?? null;
  socket.destroy();
  // Clients that only check whether somebody listens are not logged.
  if (code !== 'ECONNRESET') service.onHandshakeFailed({ address, reason: code });
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
  // A connection ends only once, with one answer.
  if (connection === null || connection.fault !== null) return;
  const current = responseOn(socket);
  // A client whose connection has broken cannot be answered. The handler that waits for it learns of that from the socket.
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  connection.fail(problem);
  // A request that cannot be read to its end gets its own answer, or has been refused already.
  const newest = connection.newest ?? current?.req ?? null;
  if (newest?.complete === false) return;
  const requestId = service.nextId();
  service.onRefused({ requestId, address: connection.address, problem });
  if (current === null) writeRefusal(socket, problem, { requestId, snapshot: service.currentDigest() });
  // The answer under way belongs to an earlier request. It is the last one unless others wait.
  else if (current.headersSent && connection.waiting === 0) socket.end();
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
