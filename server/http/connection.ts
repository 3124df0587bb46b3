// One connection of a listener: who is at the other end, whether they are still there, and what went wrong with their
// input. All requests of the connection share this object, because what happens to the connection happens to all of
// them.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiProblem } from '../problem.js';
import { type Peer, RequestAborted } from './message.js';

export class Connection implements Peer {
  readonly address: string | null;
  readonly certificate: X509Certificate | null;
  readonly certificateFault: string | null;
  /** Whoever reads a body now. It is told of a fault. */
  reader: ((problem: ApiProblem) => void) | null = null;
  /** Bytes of answers that the client has yet to read. */
  unread = 0;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** One callback for each answer that the client has yet to read. */
  readonly #untaken = new Set<() => void>();
  /** Made on first use, and shared by all requests on the connection. */
  #gone: AbortController | null = null;
  #fault: ApiProblem | null = null;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.address = socket.remoteAddress ?? null;
    const presented = socket instanceof TLSSocket ? (socket.getPeerX509Certificate() ?? null) : null;
    // `authorized` means nothing without a certificate: OpenSSL also sets it for a client without one that resumes a
    // session.
    const isVerified = socket instanceof TLSSocket && socket.authorized;
    this.certificate = isVerified ? presented : null;
    this.certificateFault = presented === null || isVerified ? null : faultOf(socket);
    socket.once('close', () => {
      this.#gone?.abort(new RequestAborted());
      for (const taken of this.#untaken) taken();
    });
  }

  get gone(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.#socket.destroyed && !this.#gone.signal.aborted) this.#gone.abort(new RequestAborted());
    return this.#gone.signal;
  }

  /** Why nothing more can be read from the connection; null if it can. */
  get fault(): ApiProblem | null {
    return this.#fault;
  }

  /** Whether the connection ends with the answer that goes out now. */
  get isLast(): boolean {
    return this.#fault !== null || this.#options.isLeaving();
  }

  /**
   * Counts an answer of `bytes` that is on its way. Calls `taken` once the client has the answer or never will. If the
   * client takes nothing for some time, the connection ends. Returns what to call once the answer has left.
   */
  awaitReader(bytes: number, taken: () => void): () => void {
    this.unread += bytes;
    this.#socket.setTimeout(this.#options.writeTimeout);
    const onTaken = (): void => {
      if (!this.#untaken.delete(onTaken)) return;
      this.unread -= bytes;
      taken();
    };
    this.#untaken.add(onTaken);
    return onTaken;
  }

  /** Nothing more can be read from the connection. Whoever reads a body is told, now or on starting to read. */
  fail(problem: ApiProblem): void {
    this.#fault ??= problem;
    this.reader?.(this.#fault);
  }
}

export interface ConnectionOptions {
  /** Whether each answer is to end its connection. */
  readonly isLeaving: () => boolean;
  /** Milliseconds. */
  readonly writeTimeout: number;
}

const CONNECTIONS = new WeakMap<Socket, Connection>();

/** Such as `CERT_HAS_EXPIRED`. */
function faultOf(socket: Socket): string {
  // Node's types call it an error, but it is only the code.
  const fault: unknown = 'authorizationError' in socket ? socket.authorizationError : null;
  return typeof fault === 'string' ? fault : 'not verified';
}

/** Call this once, when the connection is accepted. */
export function openConnection(socket: Socket, options: ConnectionOptions): void {
  CONNECTIONS.set(socket, new Connection(socket, options));
}

export function connectionOf(socket: Socket): Connection {
  const connection = findConnection(socket);
  if (connection === null) throw new TypeError('a socket that no listener has accepted');
  return connection;
}

/** Null for a client that never got a connection, because its TLS handshake failed. */
export function findConnection(socket: Socket): Connection | null {
  return CONNECTIONS.get(socket) ?? null;
}
