// One connection of a listener: who is at the other end, whether they are still there, and what has gone wrong with what they
// send. Its requests share it, since what happens to it happens to all of them.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiProblem } from '../problem.js';
import { type Peer, RequestAborted } from './message.js';

export class Connection implements Peer {
  readonly address: string | null;
  readonly certificate: X509Certificate | null;
  readonly certificateFault: string | null;
  /** Told of a fault while it reads a body. */
  reader: ((problem: ApiProblem) => void) | null = null;
  /** Bytes of answers that the client has yet to read. */
  unread = 0;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** What is to be called for each answer that is still to be read. */
  readonly #untaken = new Set<() => void>();
  /** Made when somebody asks, once for all requests that come on the connection. */
  #gone: AbortController | null = null;
  #fault: ApiProblem | null = null;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.address = socket.remoteAddress ?? null;
    const presented = socket instanceof TLSSocket ? (socket.getPeerX509Certificate() ?? null) : null;
    // Only a certificate says something: OpenSSL also calls a client without one authorized that takes up a session again.
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

  /** Why nothing more can be read from it, if so. */
  get fault(): ApiProblem | null {
    return this.#fault;
  }

  /** Whether the answer that goes out now ends it. */
  get isLast(): boolean {
    return this.#fault !== null || this.#options.isLeaving();
  }

  /**
   * An answer of so many bytes is on its way: `taken` is called when the client has it or never will. Where nothing of it is
   * taken for some time, the connection ends. Returns what is to be called when it has left.
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

  /** Nothing more can be read from it: readers of a body are told, now or when they begin. */
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
  // Node's types call it an error; it is the code alone.
  const fault: unknown = 'authorizationError' in socket ? socket.authorizationError : null;
  return typeof fault === 'string' ? fault : 'not verified';
}

/** To be called once, when the connection is accepted. */
export function openConnection(socket: Socket, options: ConnectionOptions): void {
  CONNECTIONS.set(socket, new Connection(socket, options));
}

export function connectionOf(socket: Socket): Connection {
  const connection = findConnection(socket);
  if (connection === null) throw new TypeError('a socket that no listener has accepted');
  return connection;
}

/** Null for a client that has not got as far as a connection: one that failed to greet under TLS. */
export function findConnection(socket: Socket): Connection | null {
  return CONNECTIONS.get(socket) ?? null;
}
