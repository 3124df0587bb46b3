// One connection of a listener: who is at the other end, whether they are still there, and what went wrong with their
// input. All requests of the connection share this object, because what happens to the connection happens to all of
// them.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { HTTP_LIMITS } from '../limits/http.js';
import type { ApiProblem } from '../problem.js';
import { type Peer, RequestAborted } from './message.js';

export class Connection implements Peer {
  readonly address: string | null;
  readonly certificate: X509Certificate | null;
  readonly certificateFault: string | null;
  /** Told of a fault while a body is being read. */
  reader: ((problem: ApiProblem) => void) | null = null;
  /** Requests that have arrived but wait for the answers to earlier ones. */
  waiting = 0;
  /** Characters of their heads. */
  waitingCharacters = 0;
  /** The last of these; null if there is none. */
  newest: { readonly complete: boolean } | null = null;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** The answer that the client has yet to read; null if there is none. */
  #reading: PendingAnswer | null = null;
  #isKnown = false;
  /** Made on first use, and shared by all requests on the connection. */
  #gone: AbortController | null = null;
  #fault: ApiProblem | null = null;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    // Without the zone of a link-local address, which names an interface of this machine.
    this.address = socket.remoteAddress?.split('%')[0] ?? null;
    const presented = socket instanceof TLSSocket ? (socket.getPeerX509Certificate() ?? null) : null;
    // `authorized` means nothing without a certificate: OpenSSL also sets it for a client without one that resumes a
    // session.
    const isVerified = socket instanceof TLSSocket && socket.authorized;
    this.certificate = isVerified ? presented : null;
    this.certificateFault = presented === null || isVerified ? null : faultOf(socket);
    socket.once('close', () => {
      this.#gone?.abort(new RequestAborted());
      this.#reading?.end();
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

  /** Whether the gateway ends each connection with its next answer. */
  get isLeaving(): boolean {
    return this.#options.isLeaving();
  }

  /** Whether a valid credential has come over the connection. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  noteKnown(): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    this.#options.onKnown(this.#socket);
  }

  /** Ends the connection. Its requests learn that the client is gone. */
  cut(reason: CutReason): void {
    if (this.#socket.destroyed) return;
    this.#options.onCut(reason);
    this.#socket.destroy();
  }

  /**
   * How fast the client takes the answer on its way, in bytes a second. A new answer begins with a good second, so that
   * an old one which nobody reads comes before it.
   */
  pace(): number {
    if (this.#reading === null) return Infinity;
    const { taken, begunAt } = this.#reading;
    return (taken + HTTP_LIMITS.pieceBytes) / ((performance.now() - begunAt) / 1000 + 1);
  }

  /**
   * Waits for the client to take an answer. Calls `done` once it has all of it or never will. In each `writeTimeout`
   * the client must take so much or all the rest, or the connection ends.
   */
  awaitReader(done: () => void): PendingAnswer {
    // Nothing more happens to a connection that has closed.
    if (this.#socket.destroyed) {
      done();
      return { taken: 0, begunAt: 0, end: () => undefined };
    }
    const least = (HTTP_LIMITS.slowestReader * this.#options.writeTimeout) / 1000;
    let before = 0;
    const timer = setInterval(() => {
      if (reading.taken - before < least) this.cut('slow');
      before = reading.taken;
    }, this.#options.writeTimeout);
    const reading: PendingAnswer = {
      taken: 0,
      begunAt: performance.now(),
      end: () => {
        if (this.#reading !== reading) return;
        this.#reading = null;
        clearInterval(timer);
        done();
      },
    };
    this.#reading = reading;
    return reading;
  }

  /** Nothing more can be read from the connection. The reader of a body gets the problem, now or when it starts to read. */
  fail(problem: ApiProblem): void {
    this.#fault ??= problem;
    this.reader?.(this.#fault);
  }
}

/** Why the gateway ends a connection although nothing on it is wrong. */
export type CutReason =
  /** Its client does not read its answer, or reads it too slowly. */
  | 'slow'
  /**
   * It sent too many requests, or too large ones, without waiting for answers; or all connections together did. Or they
   * sent too much without a credential.
   */
  | 'pipelined'
  /** Another connection needs its place: of the same address, or of all. Or its stream's, since its address has the most. */
  | 'address'
  | 'full';

/** An answer on its way. */
interface PendingAnswer {
  /** Bytes that the system has accepted. */
  taken: number;
  /** On the monotonic clock. */
  readonly begunAt: number;
  /** Call this once the answer has left. */
  readonly end: () => void;
}

export interface ConnectionOptions {
  /** Whether each answer is to end its connection. */
  readonly isLeaving: () => boolean;
  /** Told of the first valid credential on a connection. */
  readonly onKnown: (socket: Socket) => void;
  readonly onCut: (reason: CutReason) => void;
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
export function openConnection(socket: Socket, options: ConnectionOptions): Connection {
  const connection = new Connection(socket, options);
  CONNECTIONS.set(socket, connection);
  return connection;
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
