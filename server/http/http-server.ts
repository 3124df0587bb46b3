// The listening socket: an address, opened once there is something to serve on it; Node's limits and timeouts; requests,
// one at a time on each connection; and an orderly end.
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { HTTP_LIMITS, TLS_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import type { App } from './app.js';
import { type ConnectionOptions, type CutReason, openConnection } from './connection.js';
import {
  type ConnectionFacts,
  type ConnectionLimits,
  type ConnectionTable,
  makeConnectionTable,
} from './connection-table.js';
import {
  bearAsExpress,
  type GatewayRequest,
  type GatewayResponse,
  type MessageClasses,
  messageClasses,
  responseOn,
} from './http-message.js';
import { checkTcp, type ListenAt, listenOnSocket, listenOnTcp, type SocketAt, type TcpAt } from './listen-at.js';
import { makePipelined } from './pipelined.js';
import type { TlsIdentity } from './tls-files.js';
import { refuse, refuseUnreadable, type Refusing } from './refuse-unreadable.js';
import { turnAway } from './waiting-probes.js';

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

export interface HttpService extends Refusing {
  readonly app: App;
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

/** Taken at once. Until it is served, every request is told that the gateway is starting. */
export async function bindSocket(path: string, timeouts: Timeouts = HTTP_LIMITS): Promise<Bound<SocketAt>> {
  const listener = makeListener({ timeouts, tls: null });
  const early = new Set<Socket>();
  const meet = (socket: Socket): void => {
    expectRequest(early, socket);
  };
  listener.server.on('connection', meet).on('request', turnAway);
  const at = await listenOnSocket(listener.server, path);
  const open = (server: HttpServer): Promise<SocketAt> => {
    server.off('connection', meet).off('request', turnAway);
    // What they send from now on would be a request on a connection that nobody has met.
    for (const socket of early) socket.destroy();
    return Promise.resolve(at);
  };
  return makeBound(listener, { asked: at, open, silent: early });
}

/** `silent` holds the client until it is gone. Whoever hears of a request takes it out. */
function expectRequest(silent: Set<Socket>, socket: Socket): void {
  silent.add(socket);
  socket.once('close', () => silent.delete(socket));
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
  /** Clients that have connected by now. */
  readonly silent?: Set<Socket>;
}

function makeBound<Where extends ListenAt>(
  listener: HttpListener,
  { asked, open, silent = new Set() }: Opening<Where>,
): Bound<Where> {
  const { server, limits, timeouts } = listener;
  let at = asked;
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
  const { inTurn, forget } = makePipelined();
  bearAsExpress(classes, app.express);
  const accept = (socket: Socket): void => {
    const connection = openConnection(socket, service);
    socket.once('close', () => {
      forget(connection);
    });
    expectRequest(silent, socket);
  };
  const isTls = 'setSecureContext' in server;
  server.on('connection', (socket: Socket) => {
    if (!table.take(socket)) return;
    if (isTls) expectRequest(silent, socket);
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
  const take = (request: GatewayRequest, response: GatewayResponse): void => {
    inTurn(request, response, () => {
      app.take(request, response);
    });
  };
  server.on('request', take);
  server.on('checkExpectation', take);
  server.on('checkContinue', (request, response) => {
    request.leave = () => {
      response.writeContinue();
    };
    take(request, response);
  });
  server.on('connect', (_, socket) => {
    // Node leaves such a socket to whoever hears of it, but answers to earlier requests may still be under way.
    socket.on('error', () => undefined);
    socket.on('drain', () => responseOn(socket)?.emit('drain'));
    // Nobody else reads it any more, so nobody else would notice that the client leaves. Node ends other sockets so, too.
    socket.resume().once('end', () => socket.end());
    refuse(service, socket, new ApiProblem('request.method'));
  });
  server.on('clientError', (error, socket) => {
    refuseUnreadable(service, socket, error);
  });
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
