// A request's body: its framing is checked before a byte is read (identity encoding, media type, size), then the bytes, then
// strict JSON (design 6). Also what becomes of a body that nobody wants to read.
import type { IncomingMessage } from 'node:http';
import { parseStrictJson } from '../json.js';
import { HTTP_LIMITS } from '../limits.js';
import { ApiProblem } from '../problem.js';

/** The client went away while it sent; there is nobody to answer. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';
}

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8"))?$/i;

/** The one JSON value of the body, or a problem; `proceed` tells a client that waits for leave to send. */
export async function readJsonBody(request: IncomingMessage, proceed: () => void): Promise<unknown> {
  const { 'content-encoding': encoding, 'content-type': type } = request.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new ApiProblem('request.encoding');
  checkTransferCoding(request);
  if (type === undefined || !JSON_TYPE.test(type)) throw new ApiProblem('request.media_type');
  if (declaredLength(request) > MOST_BYTES) throw new ApiProblem('request.too_large');
  proceed();
  const bytes = await readBytes(request);
  const result = parseStrictJson(bytes, { depth: HTTP_LIMITS.jsonDepth });
  // Whatever is as large and no JSON carries no cursor.
  const room = result.ok ? roomFor(result.value) : HTTP_LIMITS.bodyBytes;
  if (bytes.length > room) throw new ApiProblem('request.too_large');
  if (result.ok) return result.value;
  const { code, pointer, message } = result.fault;
  throw new ApiProblem(code, { errors: [{ pointer, code, message }] });
}

const MOST_BYTES = HTTP_LIMITS.bodyBytes + HTTP_LIMITS.cursorMemberBytes + HTTP_LIMITS.cursorCharacters;

/**
 * Bytes that the body of a value may have. A cursor comes on top, so whoever was given one can send it back with the query
 * that it is of; nothing else can use its room.
 */
function roomFor(body: unknown): number {
  const after = memberOf(memberOf(body, 'page'), 'after');
  if (typeof after !== 'string') return HTTP_LIMITS.bodyBytes;
  return HTTP_LIMITS.bodyBytes + HTTP_LIMITS.cursorMemberBytes + after.length;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** What a route that takes no body is given. */
export function readNoBody(request: IncomingMessage): null {
  checkTransferCoding(request);
  if (!hasBody(request)) return null;
  throw new ApiProblem('request.schema', {
    errors: [{ pointer: '', code: 'request.schema', message: 'this route takes no body' }],
  });
}

/** Node takes off the chunks alone, and passes on whatever else was done to the body. */
function checkTransferCoding(request: IncomingMessage): void {
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') throw new ApiProblem('request.encoding');
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredLength(request) > 0;
}

/** 0 where none is declared. Node has refused anything that is not a number. */
function declaredLength(request: IncomingMessage): number {
  return Number(request.headers['content-length'] ?? 0);
}

function readBytes(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const settle = (finish: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= MOST_BYTES) return;
      settle(() => {
        reject(new ApiProblem('request.too_large'));
      });
    };
    const onEnd = (): void => {
      settle(() => {
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length));
      });
    };
    const onGone = (): void => {
      settle(() => {
        reject(new RequestAborted('the client went away'));
      });
    };
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

/**
 * Lets a refused request's body run out, so that the client can read its answer and use the connection again; past a bound
 * the connection is cut.
 */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || !hasBody(request)) return;
  const { socket } = request;
  let left = HTTP_LIMITS.discardBytes;
  const cut = (): void => {
    socket.destroy();
  };
  const timer = setTimeout(cut, HTTP_LIMITS.discardTimeout);
  // A request that was answered hears no more of its socket, so the socket itself is listened to.
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('close', stop);
  };
  request.on('error', () => undefined);
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  request.once('end', stop);
  socket.once('close', stop);
}
