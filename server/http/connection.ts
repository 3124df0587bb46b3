// One connection of a listener: who is at the other end, whether they are still there, and what has gone wrong with what they
// send. Its requests share it, since what happens to it happens to all of them.
import type { Socket } from 'node:net';
import type { ApiProblem } from '../problem.js';
import { type Peer, RequestAborted } from './message.js';

export class Connection implements Peer {
  readonly address: string | null;
  readonly certificate = null;
  /** Told of a fault while it reads a body. */
  reader: ((problem: ApiProblem) => void) | null = null;
  readonly #socket: Socket;
  readonly #isClosing: () => boolean;
  /** Made when somebody asks, once for all requests that come on the connection. */
  #gone: AbortController | null = null;
  #fault: ApiProblem | null = null;

  constructor(socket: Socket, isClosing: () => boolean) {
    this.#socket = socket;
    this.#isClosing = isClosing;
    this.address = socket.remoteAddress ?? null;
    socket.once('close', () => this.#gone?.abort(new RequestAborted()));
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
    return this.#fault !== null || this.#isClosing();
  }

  /** Nothing more can be read from it: whoever reads a body is told, now or when they begin. */
  fail(problem: ApiProblem): void {
    this.#fault ??= problem;
    this.reader?.(this.#fault);
  }
}

const CONNECTIONS = new WeakMap<Socket, Connection>();

/** To be called once, when the connection is accepted. */
export function openConnection(socket: Socket, isClosing: () => boolean): void {
  CONNECTIONS.set(socket, new Connection(socket, isClosing));
}

export function connectionOf(socket: Socket): Connection {
  const connection = CONNECTIONS.get(socket);
  if (connection === undefined) throw new TypeError('a socket that no listener has accepted');
  return connection;
}
