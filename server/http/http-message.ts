// Node's messages in the form that the pipeline takes: a request that reads its own body, and a response that an answer
// is delivered to. Also deals with bodies that nobody wants to read.
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Express } from 'express';
import { HTTP_LIMITS } from '../limits/http.js';
import { SOURCE_LIMITS } from '../limits/policy.js';
import { makeParts, type Parts } from '../lib/parts.js';
import { ApiProblem } from '../problem.js';
import { type Connection, connectionOf } from './connection.js';
import { type Incoming, type Outgoing, type Outlet, type Peer, type Pour, RequestAborted } from './message.js';

export class GatewayRequest extends IncomingMessage implements Incoming {
  /** Set while the client waits for permission to send its body (`Expect: 100-continue`). */
  leave: (() => void) | null = null;

  get peer(): Peer {
    return connectionOf(this.socket);
  }

  get gone(): AbortSignal {
    return connectionOf(this.socket).gone;
  }

  readBody(most: number, onBytes?: (bytes: number) => void): Promise<Uint8Array> {
    this.giveLeave();
    let only: Buffer | null = null;
    let parts: Parts | null = null;
    return readChunks(this, most, (chunk) => {
      onBytes?.(chunk.length);
      if (only === null && parts === null) {
        only = chunk;
        return;
      }
      // Copied, because a chunk of one byte takes hundreds as a buffer of its own.
      parts ??= makeParts(HTTP_LIMITS.pieceBytes);
      if (only !== null) parts.add(only);
      only = null;
      parts.add(chunk);
    }).then(() => parts?.whole() ?? only ?? new Uint8Array());
  }

  readParts(most: number, onBytes: (bytes: number) => void): Promise<readonly Uint8Array<ArrayBuffer>[]> {
    this.giveLeave();
    const parts = makeParts(SOURCE_LIMITS.partBytes);
    return readChunks(this, most, (chunk) => {
      onBytes(chunk.length);
      parts.add(chunk);
    }).then(() => parts.give());
  }

  private giveLeave(): void {
    this.leave?.();
    this.leave = null;
  }
}

export class GatewayResponse extends ServerResponse<GatewayRequest> implements Outlet {
  deliver({ status, headers, text, bytes, isLast, taken, pour }: Outgoing): void {
    const { req } = this;
    const connection = connectionOf(req.socket);
    if (!req.complete) discardBody(req);
    // A refused client that still waits for permission may send its body or not. Only a new connection makes clear
    // where that body ends. After a fault the last request that arrived gets the last answer.
    const isEnd =
      isLast || req.leave !== null || connection.isLeaving || (connection.fault !== null && connection.waiting === 0);
    this.writeHead(status, isEnd ? [...headers, 'Connection', 'close'] : [...headers]);
    if (pour !== undefined) {
      taken();
      void this.#pourFrom(pour, connection);
      return;
    }
    if (bytes > HTTP_LIMITS.pieceBytes && req.method !== 'HEAD') {
      this.#deliverSlowly(Buffer.from(text), connection.awaitReader(taken));
      return;
    }
    // A string, because Node writes it together with the head.
    this.end(text);
    // Usually the system takes the whole answer at once.
    if (this.writableLength === 0 || req.socket.destroyed) taken();
    else this.once('close', connection.awaitReader(taken).end);
  }

  /** The client must read each part before the next is made, and no slower than any other reader. */
  async #pourFrom(pour: Pour, connection: Connection): Promise<void> {
    this.flushHeaders();
    const send = async (part: string | Uint8Array): Promise<void> => {
      const bytes = Buffer.from(part);
      for (let at = 0; at < bytes.length; at += HTTP_LIMITS.pieceBytes) {
        await this.#give(bytes.subarray(at, at + HTTP_LIMITS.pieceBytes), connection);
      }
    };
    try {
      await pour({ send });
      const { socket } = this.req;
      this.end(() => {
        // A gateway that began to leave meanwhile ends this connection with this answer.
        if (connection.isLeaving) socket.destroySoon();
      });
    } catch {
      // Whoever pours has reported why.
      this.destroy();
    }
  }

  #give(piece: Buffer, connection: Connection): Promise<void> {
    if (this.destroyed || this.closed || connection.gone.aborted) return Promise.reject(new RequestAborted());
    if (this.write(piece)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const reading = connection.awaitReader(() => undefined);
      const settle = (finish: () => void): void => {
        this.off('drain', onDrain).off('close', onClose);
        reading.taken = piece.length;
        reading.end();
        finish();
      };
      const onDrain = (): void => {
        settle(resolve);
      };
      const onClose = (): void => {
        settle(() => {
          reject(new RequestAborted());
        });
      };
      this.on('drain', onDrain).on('close', onClose);
    });
  }

  /** In pieces, each once the system has accepted the one before. So it shows how fast the client reads. */
  #deliverSlowly(bytes: Buffer, reading: ReturnType<Connection['awaitReader']>): void {
    const next = (): void => {
      while (reading.taken < bytes.length && !this.destroyed) {
        const piece = bytes.subarray(reading.taken, reading.taken + HTTP_LIMITS.pieceBytes);
        const hasLeft = this.write(piece);
        reading.taken += piece.length;
        if (!hasLeft) return;
      }
      this.off('drain', next);
      this.end();
    };
    this.on('drain', next);
    this.once('close', reading.end);
    next();
  }
}

/**
 * A response of a gateway. `instanceof GatewayResponse` would fail, because Express's prototypes stand in place of that
 * class.
 */
function isGatewayResponse(message: unknown): message is GatewayResponse {
  return message instanceof ServerResponse && 'deliver' in message;
}

/** The answer that is being sent on the connection. */
export function responseOn(socket: Duplex): GatewayResponse | null {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : null;
  return isGatewayResponse(message) ? message : null;
}

export interface MessageClasses {
  readonly IncomingMessage: typeof GatewayRequest;
  readonly ServerResponse: typeof GatewayResponse;
}

/**
 * The message classes of one server. They are derived classes, because V8 keeps the hidden class between objects only
 * for those.
 */
export function messageClasses(): MessageClasses {
  class BornRequest extends GatewayRequest {}
  class BornResponse extends GatewayResponse {}
  return { IncomingMessage: BornRequest, ServerResponse: BornResponse };
}

/**
 * Express sets the prototypes of every request and response that it sees, which costs more than all its routing. Our
 * messages are created with these prototypes, so that nothing is left to set: Express's additions come after our own
 * members and before Node's.
 */
export function bearAsExpress(
  { IncomingMessage: { prototype: request }, ServerResponse: { prototype: response } }: MessageClasses,
  app: Express,
): void {
  for (const [born, ours, express] of [
    [request, GatewayRequest.prototype, app.request],
    [response, GatewayResponse.prototype, app.response],
  ] as const) {
    Object.defineProperties(born, Object.getOwnPropertyDescriptors(ours));
    Object.setPrototypeOf(born, express);
  }
  Reflect.set(app, 'request', request);
  Reflect.set(app, 'response', response);
}

/** Resolves to the number of bytes. Rejects with what `add` throws. */
function readChunks(request: GatewayRequest, most: number, add: (chunk: Buffer) => unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (finish: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      // A later request of the connection may be the one that is read now.
      if (connection.reader === onFault) connection.reader = null;
      finish();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      try {
        if (length > most) throw new ApiProblem('request.too_large');
        add(chunk);
      } catch (error) {
        refuse(error instanceof Error ? error : new TypeError('what was thrown is not an error', { cause: error }));
      }
    };
    const onEnd = (): void => {
      settle(() => {
        resolve(length);
      });
    };
    const onGone = (): void => {
      refuse(new RequestAborted());
    };
    const refuse = (reason: Error): void => {
      settle(() => {
        reject(reason);
      });
    };
    // A request that has arrived whole is fine, whatever comes after it.
    const onFault = (problem: ApiProblem): void => {
      if (!request.complete) refuse(problem);
    };
    const connection = connectionOf(request.socket);
    // The client may have left while its credential was looked up. In that case the request emits no more events.
    if (request.destroyed) {
      reject(new RequestAborted());
      return;
    }
    if (connection.fault !== null && !request.complete) {
      reject(connection.fault);
      return;
    }
    connection.reader = onFault;
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

/**
 * Reads and drops the body of a refused request, so that the client can read its answer and use the connection again.
 * Beyond a bound the connection is cut.
 */
function discardBody(request: GatewayRequest): void {
  const { socket } = request;
  let left = HTTP_LIMITS.discardBytes;
  const cut = (): void => {
    socket.destroy();
  };
  const timer = setTimeout(cut, HTTP_LIMITS.discardTimeout);
  // A request that was answered no longer hears from its socket, so this listens to the socket itself.
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
