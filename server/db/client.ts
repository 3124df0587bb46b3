// One connection of the driver, with what makes it safe to share: a statement that takes too long is given up, a connection that
// is lost is never handed out again, and a statement that nobody waits for any more can be cancelled.
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { endsConnection, StoreError } from './failures.js';

/** pg's client as it is; its types know neither its internals nor a query that is not one of theirs. */
interface DriverClient {
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  on(event: 'notification', listener: (message: Notification) => void): unknown;
  query(...parameters: unknown[]): unknown;
  connect(): Promise<unknown>;
  end(): Promise<void>;
  unref(): void;
  readonly host: string;
  readonly database: string | null | undefined;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: { readonly stream: { destroy: () => void } };
}

export interface Notification {
  readonly channel: string;
  readonly payload?: string;
}

const Driver: new (config: pg.ClientConfig) => DriverClient = pg.Client as never;

type QueryCallback = (error: Error | null, result?: unknown) => void;

/** The server forgets a request to cancel that it has not got by then; so do we. */
const CANCEL_TIMEOUT = 1_000;

export class StoreClient extends Driver {
  /** Why this connection must not be used again: knex's name for it, which gives one that carries it back to be dropped. */
  __knex__disposed: Error | undefined = undefined;
  /** Of a pool: hands the connection back, or drops it. */
  declare readonly release: (drop?: boolean) => void;
  readonly #deadline: number;

  /** `deadline`: milliseconds that a statement may take; 0 is for ever. */
  constructor(config: pg.ClientConfig, deadline: number) {
    super(config);
    this.#deadline = deadline;
    // A killed backend or a lost network says so by an `error` event, which ends the process where nobody listens.
    this.on('error', (error) => {
      this.lose(error ?? new Error('Connection terminated'));
    });
    this.on('end', () => {
      this.lose(new Error('Connection terminated'));
    });
  }

  get isLost(): boolean {
    return this.__knex__disposed !== undefined;
  }

  lose(reason: Error): void {
    this.__knex__disposed ??= reason;
  }

  throwIfLost(): void {
    if (this.__knex__disposed !== undefined) throw this.__knex__disposed;
  }

  /**
   * Gives up a statement after the deadline: its caller gets `store.timeout` and the connection is dropped, since its answer may
   * still come (the embedded engine cannot stop it) or never (a network that swallows packets). A connection whose server said
   * goodbye in an answer is dropped at once, too: its end comes later, when others might have got it already.
   */
  override query(...parameters: unknown[]): unknown {
    const callback = parameters.at(-1);
    if (typeof callback !== 'function') return super.query(...parameters);
    const answer = callback as QueryCallback;
    let settled = false;
    const settle: QueryCallback = (error, result) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (error !== null && endsConnection(error)) this.lose(error);
      answer(error, result);
    };
    const giveUp = (): void => {
      const error = new StoreError('store.timeout', `the store did not answer within ${String(this.#deadline)} ms`);
      this.lose(error);
      settle(error);
      this.connection.stream.destroy();
    };
    const timer = this.#deadline === 0 ? undefined : setTimeout(giveUp, this.#deadline);
    return super.query(...parameters.slice(0, -1), settle);
  }

  /** Runs a statement for its effect. */
  async run(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.query(text, (error: Error | null) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
  }

  /**
   * Asks the server to stop what runs on this connection. Resolves when it has been told: until then the connection must not be
   * used for anything else, which might be stopped instead. One that cannot be told is dropped.
   */
  async cancel(): Promise<void> {
    const request = Buffer.alloc(16);
    request.writeInt32BE(request.length, 0);
    request.writeInt32BE(80_877_102, 4);
    request.writeInt32BE(this.processID ?? 0, 8);
    request.writeInt32BE(this.secretKey ?? 0, 12);
    if (!(await isTold(this.host, this.port, request))) {
      this.lose(new Error('a statement could not be cancelled'));
      this.connection.stream.destroy();
    }
    await nextTurn();
  }
}

/** The server closes the connection when it has done what was asked. */
function isTold(host: string, port: number, request: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket: Socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${String(port)}`) : connect(port, host);
    let failed = false;
    socket.setTimeout(CANCEL_TIMEOUT, () => socket.destroy(new Error('no answer')));
    socket.on('error', () => {
      failed = true;
    });
    socket.on('close', () => {
      resolve(!failed);
    });
    socket.resume();
    socket.end(request);
  });
}
