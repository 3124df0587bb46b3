// What the pipeline is given of a request and what it gives back, without a word of sockets: a listener adapts its messages to
// these, and whatever is in the same process uses them as they are.
import type { X509Certificate } from 'node:crypto';
import { ApiProblem } from '../problem.js';

/** One request whose head has arrived. `method`, `url` and `rawHeaders` are named as Node's messages name them. */
export interface Incoming {
  readonly method?: string | undefined;
  /** The request target as it was sent. */
  readonly url?: string | undefined;
  /** As they were sent: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  /** Bytes of earlier answers on the same connection that the client has yet to read. */
  readonly unread: number;
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal;
  /** The whole body. Rejects with `request.too_large` above so many bytes, with `RequestAborted` once the client is gone. */
  readonly readBody: (most: number) => Promise<Uint8Array>;
  /** As `readBody`, in pieces that can be given away: nothing ever joins them. */
  readonly readParts: (most: number, onBytes: (bytes: number) => void) => Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

/** The other end of a connection. */
export interface Peer {
  /** Null for a Unix socket, and where there is no socket at all. */
  readonly address: string | null;
  /** The client's certificate once the listener has verified it. */
  readonly certificate: X509Certificate | null;
  /** Why the certificate that the client presented is none that counts; null if it presented none, or a good one. */
  readonly certificateFault: string | null;
}

/** A whole answer. */
export interface Outgoing {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly text: string;
  /** Of the text. */
  readonly bytes: number;
  /** To be called once, when the client has taken the answer or never will. */
  readonly taken: () => void;
}

/** Where the answer to one request goes; takes one. */
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

/** A request that cannot be read, in words of ours that hold nothing of it. */
export function malformed(message: string): ApiProblem {
  return new ApiProblem('request.malformed', { errors: [{ pointer: '', code: 'request.malformed', message }] });
}

/** A request of another shape than the route's, as far as the body is not concerned. */
export function misshapen(message: string): ApiProblem {
  return new ApiProblem('request.schema', { errors: [{ pointer: '', code: 'request.schema', message }] });
}
