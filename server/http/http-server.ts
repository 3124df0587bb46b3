// The listening socket: Node's limits and timeouts, requests that are born as Express's, connections that never become a
// request, and the way to an orderly end.
import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { HTTP_LIMITS } from '../limits.js';
import { ApiProblem } from '../problem.js';
import { answerHeaders, PROBLEM_TYPE, problemText } from './exchange.js';

export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number };
  /** Takes no new connections, lets requests in flight end, then cuts what is left. */
  readonly drain: () => Promise<void>;
}

export interface HttpServerOptions {
  readonly app: Express;
  readonly listen: { readonly host: string; readonly port: number };
  readonly currentDigest: () => string;
  readonly nextId: () => string;
}

/** Listens; rejects with Node's error where it cannot (`EADDRINUSE`, `EACCES`). */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = makeServer(options);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.listen.port, options.listen.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  const { address, port }: Pick<AddressInfo, 'address' | 'port'> =
    typeof bound === 'object' && bound !== null ? bound : { address: options.listen.host, port: options.listen.port };
  return { address: { host: address, port }, drain: () => drain(server) };
}

function makeServer({ app, currentDigest, nextId }: HttpServerOptions): Server {
  // An Express app is a request listener, which its types say only for its own kinds of request.
  const listener: RequestListener = (request, response) => {
    app(request as Parameters<Express>[0], response as Parameters<Express>[1]);
  };
  const server = createServer(
    {
      ...bornAsExpress(app),
      maxHeaderSize: HTTP_LIMITS.headerBytes,
      headersTimeout: HTTP_LIMITS.headersTimeout,
      requestTimeout: HTTP_LIMITS.requestTimeout,
      keepAliveTimeout: HTTP_LIMITS.keepAliveTimeout,
      connectionsCheckingInterval: HTTP_LIMITS.timeoutCheckInterval,
      // Checked with the other headers, so that this refusal looks like every other.
      requireHostHeader: false,
      noDelay: true,
    },
    listener,
  );
  server.maxConnections = HTTP_LIMITS.connections;
  server.maxRequestsPerSocket = HTTP_LIMITS.requestsPerSocket;
  // Not a number of headers that Node would drop the rest of in silence: bytes bound them here, checkHeaders counts them.
  server.maxHeadersCount = 0;
  server.timeout = HTTP_LIMITS.idleSocketTimeout;
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  const refuse = (socket: Duplex, status: number, problem: ApiProblem | null): void => {
    refuseSocket(socket, status, { problem, requestId: nextId(), snapshot: currentDigest() });
  };
  server.on('connect', (_, socket) => {
    refuse(socket, 405, new ApiProblem('request.method'));
  });
  server.on('clientError', (error: ClientError, socket) => {
    if (error.code === 'HPE_HEADER_OVERFLOW') {
      const long = error.rawPacket !== undefined && isLongTarget(error.rawPacket);
      refuse(socket, long ? 414 : 431, long ? new ApiProblem('request.uri_too_long') : null);
    } else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') refuse(socket, 408, null);
    else refuse(socket, 400, new ApiProblem('request.malformed'));
  });
  return server;
}

interface ClientError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/**
 * Express sets the prototypes of every request and response it sees, which costs more than all its routing (perf-peers.md).
 * These are made with them, so that there is nothing left to set. Derived classes, because only for those does V8 keep the
 * hidden class from one object to the next.
 */
function bornAsExpress(app: Express): {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse<IncomingMessage>;
} {
  class GatewayRequest extends IncomingMessage {}
  class GatewayResponse extends ServerResponse {}
  Object.setPrototypeOf(GatewayRequest.prototype, app.request);
  Object.setPrototypeOf(GatewayResponse.prototype, app.response);
  Reflect.set(app, 'request', GatewayRequest.prototype);
  Reflect.set(app, 'response', GatewayResponse.prototype);
  return { IncomingMessage: GatewayRequest, ServerResponse: GatewayResponse };
}

/** Whether what overflowed is the request line alone. */
function isLongTarget(packet: Buffer): boolean {
  const end = packet.indexOf('\n');
  return /^[A-Z]+ \S*$/.test(packet.toString('latin1', 0, 64)) && (end < 0 || end > HTTP_LIMITS.targetCharacters);
}

interface Refusal {
  /** Null where no code of ours says it: the status alone. */
  readonly problem: ApiProblem | null;
  readonly requestId: string;
  readonly snapshot: string;
}

/** An answer to what never became a request; the connection ends with it. */
function refuseSocket(socket: Duplex, status: number, { problem, requestId, snapshot }: Refusal): void {
  socket.on('error', () => undefined);
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const body = problem === null ? '' : problemText(problem, requestId);
  const headers = answerHeaders(snapshot, requestId);
  const lines = [
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    `Content-Length: ${String(Buffer.byteLength(body))}`,
  ];
  if (problem !== null) lines.push(`Content-Type: ${PROBLEM_TYPE}`);
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`);
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  // The peer may never close its side.
  setTimeout(() => socket.destroy(), HTTP_LIMITS.discardTimeout).unref();
}

/** Whether an answer to an earlier request of the connection is on its way, which must not be mixed with another. */
function isAnswering(socket: Duplex): boolean {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return message instanceof ServerResponse && message.headersSent;
}

async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
  });
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, HTTP_LIMITS.drainTimeout);
  await closed;
  clearTimeout(cut);
}
