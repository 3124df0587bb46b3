// What comes on a connection and is no request that the pipeline could answer: it cannot be read, or the TLS handshake
// failed. The client gets an answer where it cannot take that for another one.
import { STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { connectionOf, findConnection } from './connection.js';
import { answerHeaders, PROBLEM_TYPE, problemText } from './exchange.js';
import { responseOn } from './http-message.js';
import type { FailedHandshake, RefusedRequest } from './request-observer.js';

/** What a refusal needs of its listener. */
export interface Refusing {
  readonly currentDigest: () => string;
  readonly nextId: () => string;
  /** Told of each request that was refused before it could be read. */
  readonly onRefused: (refusal: RefusedRequest) => void;
  /** Told of each client whose TLS handshake failed. */
  readonly onHandshakeFailed: (client: FailedHandshake) => void;
}

/** Handles Node's `clientError`. */
export function refuseUnreadable(service: Refusing, socket: Duplex, error: ClientError): void {
  if (socket instanceof Socket && findConnection(socket) === null) refuseFailedHandshake(service, socket, error);
  else refuse(service, socket, problemOf(error));
}

/** A client whose TLS handshake failed. There is no connection to answer it on. */
function refuseFailedHandshake(service: Refusing, socket: Socket, { code = 'unknown' }: ClientError): void {
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
  if (code !== 'HPE_HEADER_OVERFLOW')
    return new ApiProblem('request.malformed', code?.startsWith('HPE_') === true ? { reason: code } : {});
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
export function refuse(service: Refusing, socket: Duplex, problem: ApiProblem): void {
  if (!(socket instanceof Socket)) return;
  const connection = connectionOf(socket);
  // A connection ends only once, with one answer.
  if (connection.fault !== null) return;
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
  else if (current.headersSent && connection.waiting === 0)
    current.once('finish', () => {
      socket.destroySoon();
    });
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
