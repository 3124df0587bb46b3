// Connections to the store, and pools of them. A connection has what makes it safe to share: a statement that takes too long is given up,
// one that is lost is never handed out again, and a statement that nobody waits for any more can be cancelled. A pool says how many there
// are, how many requests may wait for one, and for how long.
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { POOL_LIMITS } from '../limits/store.js';
import { endsConnection, StoreError } from './failures.js';
import { passwordFromFile } from './password-file.js';

/** pg's client as it is; its types know neither its internals nor a query that is not one of theirs. */
interface DriverClient {
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  on(event: 'notification', listener: (message: Notification) => void): unknown;
  query(...parameters: unknown[]): unknown;
  connect(): Promise<unknown>;
  end(): Promise<void>;
  ref(): void;
  unref(): void;
  readonly host: string;
  readonly database: string | null | undefined;
  readonly port: number;
  readonly user: string | null | undefined;
  /** Null if neither the configuration nor PGPASSWORD has one; a function is asked when the server wants one. */
  password: string | null | (() => Promise<string | undefined>);
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: DriverConnection;
}

/** What pg's client speaks through: the protocol without its meaning, under TLS or not. */
interface DriverConnection {
  on(event: 'connect' | 'sslconnect' | 'end', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
  readonly ssl: object | boolean;
  readonly sslNegotiation: string;
  readonly stream: { destroy: () => void };
}

export interface Notification {
  readonly channel: string;
  readonly payload?: string;
}

interface Driver {
  readonly Client: new (config: pg.ClientConfig) => DriverClient;
  readonly Connection: new (config: Pick<DriverConnection, 'ssl' | 'sslNegotiation'>) => DriverConnection;
  readonly Pool: new (options: PoolOptions) => DriverPool;
}

const { Client: DriverClient, Connection: DriverConnection, Pool: DriverPool }: Driver = pg as never;

type QueryCallback = (error: Error | null, result?: unknown) => void;

export class StoreClient extends DriverClient {
  /** Why this connection must not be used again: knex's name for it, which gives one that carries it back to be dropped. */
  __knex__disposed: Error | undefined = undefined;
  /** Of a pool: hands the connection back, or drops it. */
  declare readonly release: (drop?: boolean) => void;
  readonly #deadline: number;

  /** `deadline`: milliseconds that a statement may take; 0 is forever. */
  constructor(config: pg.ClientConfig, deadline: number) {
    super(config);
    this.#deadline = deadline;
    this.password ??= () => passwordFromFile(this);
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
    if (!(await isTold(this))) {
      this.lose(new Error('a statement could not be cancelled'));
      this.connection.stream.destroy();
    }
    await nextTurn();
  }
}

/**
 * Over a connection of its own, under TLS where the client's is: its key could be read on the way otherwise, and stop whatever runs there
 * next. The server closes it when it has done what was asked.
 */
function isTold({ host, port, processID, secretKey, connection }: DriverClient): Promise<boolean> {
  return new Promise((resolve) => {
    const { ssl, sslNegotiation } = connection;
    const teller = new DriverConnection({ ssl, sslNegotiation });
    const settle = (isDone: boolean): void => {
      clearTimeout(timer);
      teller.stream.destroy();
      resolve(isDone);
    };
    const timer = setTimeout(settle, POOL_LIMITS.cancelTimeout, false);
    const tell = (): void => {
      teller.cancel(processID ?? 0, secretKey ?? 0);
    };
    teller.on('error', () => {
      settle(false);
    });
    teller.on('end', () => {
      settle(true);
    });
    teller.on('sslconnect', tell);
    teller.on('connect', () => {
      if (ssl === false) tell();
      else if (sslNegotiation !== 'direct') teller.requestSsl();
    });
    if (host.startsWith('/')) teller.connect(`${host}/.s.PGSQL.${String(port)}`);
    else teller.connect(port, host);
  });
}

/** How connections are made: the same for the embedded and the external store. */
export interface ConnectionSource {
  /** Of the next connection; the embedded store's address changes with its owner. */
  readonly config: () => pg.ClientConfig;
  /** What a new connection runs first, in SQL. */
  readonly greeting: string | null;
  /** Runs an attempt to get a connection, as often as makes sense. */
  readonly reach: <T>(attempt: () => Promise<T>) => Promise<T>;
  /** Milliseconds a new connection may take to come about. */
  readonly connectTimeout: number;
  /** Milliseconds a request may wait for a connection. */
  readonly acquireTimeout: number;
  /** Milliseconds after which a statement is given up and its connection dropped; 0 is never. */
  readonly deadline: number;
}

interface PoolOptions {
  readonly Client: new () => StoreClient;
  readonly max: number;
  readonly connectionTimeoutMillis: number;
  readonly idleTimeoutMillis: number;
  readonly allowExitOnIdle: true;
  readonly onConnect: (client: StoreClient) => Promise<void>;
}

/** pg's pool, of clients of ours. */
interface DriverPool {
  connect(): Promise<StoreClient>;
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
  readonly idleCount: number;
  readonly totalCount: number;
  readonly waitingCount: number;
}

const { waiting: MAX_WAITING, idleTimeout } = POOL_LIMITS;

export class StorePool extends DriverPool {
  readonly #source: ConnectionSource;
  #asking = 0;

  constructor(source: ConnectionSource, { max, name }: { readonly max: number; readonly name?: string }) {
    super({
      Client: class extends StoreClient {
        constructor() {
          super({ ...source.config(), ...(name === undefined ? {} : { application_name: name }) }, source.deadline);
        }
      },
      max,
      connectionTimeoutMillis: source.connectTimeout,
      idleTimeoutMillis: idleTimeout,
      allowExitOnIdle: true, // a connection that nobody uses does not keep a process alive
      onConnect: (client) => greet(client, source.greeting),
    });
    this.#source = source;
    this.on('error', () => undefined); // of an idle connection, which is gone by then
  }

  /** Throws `store.busy` if too many wait already, or no connection comes in time. */
  override connect(): Promise<StoreClient> {
    // One that is idle and nobody else's is there in the next turn, without a clock.
    return this.idleCount > this.waitingCount ? super.connect() : this.#connectInTurn();
  }

  async #connectInTurn(): Promise<StoreClient> {
    if (this.#asking - this.idleCount >= MAX_WAITING) {
      throw new StoreError('store.busy', `more than ${String(MAX_WAITING)} requests wait for the store`);
    }
    this.#asking += 1;
    const taking = this.#source
      .reach(() => super.connect())
      .finally(() => {
        this.#asking -= 1;
      });
    return inTime(taking, this.#source.acquireTimeout);
  }

  facts(): { readonly open: number; readonly free: number; readonly waiting: number } {
    return { open: this.totalCount, free: this.idleCount, waiting: this.waitingCount };
  }

  /** Runs a statement for its effect. */
  async run(text: string): Promise<void> {
    const client = await this.connect();
    try {
      await client.run(text);
    } finally {
      client.release(client.isLost);
    }
  }
}

/** A connection, handed out only after its first statements ran and while it is still open. */
async function greet(client: StoreClient, greeting: string | null): Promise<void> {
  if (greeting !== null) await client.run(greeting);
  client.throwIfLost();
}

/** One that comes too late goes back. */
async function inTime(taking: Promise<StoreClient>, timeout: number): Promise<StoreClient> {
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      isLate = true;
      reject(new StoreError('store.busy', `no connection to the store was free within ${String(timeout)} ms`));
    }, timeout);
  });
  taking.then(
    (client) => {
      if (isLate) client.release();
    },
    () => undefined,
  );
  try {
    return await Promise.race([taking, late]);
  } finally {
    clearTimeout(timer);
  }
}
