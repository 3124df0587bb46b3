// What the pipeline gets of a request and what it gives back, independent of sockets. A listener adapts its messages to
// these types; callers in the same process use them directly.
import type { X509Certificate } from 'node:crypto';
import { ApiProblem } from '../problem.js';

/** One request whose head has arrived. `method`, `url` and `rawHeaders` are named as Node's messages name them. */
export interface Incoming {
  readonly method?: string | undefined;
  /** The request target, as it was sent. */
  readonly url?: string | undefined;
  /** The headers as they were sent: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  /** Bytes of earlier answers on the same connection that the client has yet to read. */
  readonly unread: number;
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal;
  /**
   * The whole body. Rejects with `request.too_large` above `most` bytes, and with `RequestAborted` once the client is
   * gone.
   */
  readonly readBody: (most: number) => Promise<Uint8Array>;
  /** Like `readBody`, but in pieces that can be transferred: they are never joined. */
  readonly readParts: (most: number, onBytes: (bytes: number) => void) => Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

/** The other end of a connection. */
export interface Peer {
  /** Null for a Unix socket, or if there is no socket at all. */
  readonly address: string | null;
  /** The client's certificate, if the listener has verified it. */
  readonly certificate: X509Certificate | null;
  /** Why the certificate that the client presented is not accepted; null if it presented none, or a good one. */
  readonly certificateFault: string | null;
}

/** A whole answer. */
export interface Outgoing {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly text: string;
  /** The size of the text. */
  readonly bytes: number;
  /** Call this once, when the client has taken the answer or never will. */
  readonly taken: () => void;
}

/** Where the answer to one request goes. It takes a single answer. */
export interface Outlet {
  readonly deliver: (outgoing: Outgoing) => void;
}

/** The client went away; there is nobody to answer. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';

  constructor() {
    super('the client went away');
  }
}

/** A request that cannot be read. The message is ours and quotes nothing from the request. */
export function malformed(message: string): ApiProblem {
  return new ApiProblem('request.malformed', { errors: [{ pointer: '', code: 'request.malformed', message }] });
}

/** A request whose shape is not that of the route, apart from its body. */
export function misshapen(message: string): ApiProblem {
  return new ApiProblem('request.schema', { errors: [{ pointer: '', code: 'request.schema', message }] });
}
