// What the pipeline gets of a request and what it gives back, independent of sockets. A listener adapts its messages to
// these types; callers in the same process use them directly.
import type { X509Certificate } from 'node:crypto';
import { ApiProblem, type ProblemCode } from '../problem.js';

/** One request whose head has arrived. `method`, `url` and `rawHeaders` are named as Node's messages name them. */
export interface Incoming {
  readonly method?: string | undefined;
  /** The request target, as it was sent. */
  readonly url?: string | undefined;
  /** The headers as they were sent: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  readonly peer: Peer;
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal;
  /**
   * The whole body. Rejects with `request.too_large` above `most` bytes, and with `RequestAborted` once the client is
   * gone.
   */
  readonly readBody: (most: number, onBytes?: (bytes: number) => void) => Promise<Uint8Array>;
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
  /** Whether a valid credential has come from there before. */
  readonly isKnown: boolean;
  readonly noteKnown: () => void;
  /** Bytes per second at which the client reads the answer; infinite if none is on its way. */
  readonly pace: () => number;
  /** Ends the connection. */
  readonly cut: (reason: 'slow' | 'pipelined' | 'address') => void;
}

/** Somebody in this process, or behind a connection that nobody can end. */
export function peerWithoutConnection(address: string | null): Peer {
  return {
    address,
    certificate: null,
    certificateFault: null,
    isKnown: true,
    noteKnown: () => undefined,
    pace: () => Infinity,
    cut: () => undefined,
  };
}

/** A whole answer. */
export interface Outgoing {
  readonly status: number;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly text: string;
  /** The size of the text. */
  readonly bytes: number;
  /** Whether the connection is to end with this answer. */
  readonly isLast: boolean;
  /** Call this once, when the client has read the answer or never will. */
  readonly taken: () => void;
  /** Instead of a text: what to call once the head of the answer is sent. The answer ends when it has ended. */
  readonly pour?: Pour;
}

/**
 * Sends the parts of an answer that is made bit by bit. If it rejects, the rest cannot be sent: its connection ends in the
 * middle of the answer, so that nobody takes that for a whole one.
 */
export type Pour = (sink: Sink) => Promise<void>;

/** Where they go. */
interface Sink {
  /** Resolves once the system has accepted the part. Rejects with `RequestAborted` once the client is gone. */
  readonly send: (part: string | Uint8Array) => Promise<void>;
}

/** For answers to somebody who takes no parts. */
export const CLOSED_SINK: Sink = Object.freeze({ send: () => Promise.reject(new RequestAborted()) });

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

/** A request that cannot be read. The message is ours and quotes nothing from the request, so the log has it, too. */
export function malformed(message: string): ApiProblem {
  return saidInLog('request.malformed', message);
}

/** A request whose shape is not that of the route, apart from its body. */
export function misshapen(message: string): ApiProblem {
  return saidInLog('request.schema', message);
}

function saidInLog(code: ProblemCode, message: string): ApiProblem {
  return new ApiProblem(code, { errors: [{ pointer: '', code, message }], reason: message });
}
