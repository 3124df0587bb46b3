// Connections to the store, and pools of them. A connection is safe to share: a statement that takes too long is given up, a lost
// connection is never handed out again, and a statement that nobody waits for any more can be cancelled. A pool limits how many
// connections there are, how many requests may wait for one, and for how long.
import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { POOL_LIMITS } from '../limits/store.js';
import { endsConnection, StoreError } from './failures.js';
import { passwordFromFile } from './password-file.js';

/** The parts of pg's client that are used here. The published types leave out its internals and other libraries' query objects. */
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
  /** Null if neither the configuration nor PGPASSWORD has one. A function is called when the server asks for a password. */
  password: string | null | (() => Promise<string | undefined>);
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: DriverConnection;
}

/** The connection under pg's client, with TLS or without: it sends and receives messages of the protocol. */
interface DriverConnection {
  on(event: 'connect' | 'sslconnect' | 'readyForQuery' | 'end', listener: () => void): unknown;
  on(event: 'error' | 'errorMessage', listener: (error: Error) => void): unknown;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
  readonly ssl: object | boolean;
  readonly sslNegotiation: NonNullable<pg.ClientConfig['sslnegotiation']>;
  readonly stream: { destroy: () => void };
}

type Stream = pg.ClientConfig['stream'] | undefined;

export interface Notification {
  readonly channel: string;
  readonly payload?: string;
}

interface Driver {
  readonly Client: new (config: pg.ClientConfig) => DriverClient;
  readonly Connection: new (
    config: Pick<DriverConnection, 'ssl' | 'sslNegotiation'> & { readonly stream: Stream },
  ) => DriverConnection;
  readonly Pool: new (options: PoolOptions) => DriverPool;
}

const { Client: DriverClient, Connection: DriverConnection, Pool: DriverPool }: Driver = pg as never;

type QueryCallback = (error: Error | null, result?: unknown) => void;

export class StoreClient extends DriverClient {
  /** Why this connection must not be used again. The name is knex's: it returns a connection with this property to be dropped. */
  __knex__disposed: Error | undefined = undefined;
  /** Set by the pool: returns the connection to it, or drops the connection. */
  declare readonly release: (drop?: boolean) => void;
  readonly #deadline: number;
  /** Makes the driver's way to the server, if that is not a socket. */
  readonly #stream: Stream;

  /** `deadline`: milliseconds that a statement may take; 0 is forever. */
  constructor(config: pg.ClientConfig, deadline: number) {
    super(config);
    this.#stream = config.stream;
    this.#deadline = deadline;
    this.password ??= () => passwordFromFile(this);
    // A killed backend or a lost network raises an `error` event. Without a listener it would end the process.
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
   * Gives up a statement after the deadline: its caller gets `store.timeout` and the connection is dropped, since the answer may
   * come late (the embedded engine cannot stop a statement) or never (the network drops packets). If an answer says that the server
   * is closing the connection, the connection is dropped at once too: its `end` event comes later, and by then another caller could
   * have it.
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
      this.drop();
    };
    const timer = this.#deadline === 0 ? undefined : setTimeout(giveUp, this.#deadline);
    return super.query(...parameters.slice(0, -1), settle);
  }

  /** Runs one statement, or several for their effect: then there are no rows. */
  run<Row>(text: string): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.query(text, (error: Error | null, result?: { readonly rows?: readonly Row[] }) => {
        if (error === null) resolve(result?.rows ?? []);
        else reject(error);
      });
    });
  }

  /**
   * Asks the server to stop what runs on this connection. Resolves when the server has been told: until then the connection must
   * not be used for another statement, which might be stopped instead. If the server cannot be told, the connection is dropped.
   */
  async cancel(): Promise<void> {
    if (!(await isTold(this, this.#stream))) {
      this.lose(new Error('a statement could not be cancelled'));
      this.drop();
    }
    await nextTurn();
  }

  /** Without a word to the server. */
  drop(): void {
    this.connection.stream.destroy();
  }
}

/**
 * Sends the cancel request over a connection of its own, with TLS where the client has it: whoever read the secret key on the way could
 * stop later statements. The server closes this connection when it has handled the request.
 */
function isTold({ host, port, processID, secretKey, connection }: DriverClient, stream: Stream): Promise<boolean> {
  return new Promise((resolve) => {
    const { ssl, sslNegotiation } = connection;
    const teller = new DriverConnection({ ssl, sslNegotiation, stream });
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
  /** For the next connection. The embedded store's address changes with its owner, so this is asked each time. */
  readonly config: () => pg.ClientConfig;
  /** What a new connection runs first, in SQL. */
  readonly greeting: string | null;
  /** Runs an attempt to get a connection, and repeats it while that makes sense. */
  readonly reach: <T>(attempt: () => Promise<T>) => Promise<T>;
  /**
   * Rejects while connections cannot be opened, once that has happened: those that are open say nothing about it. Opens
   * one to find out whether that is over.
   */
  readonly assertOpens: () => Promise<void>;
  /** Milliseconds that opening a new connection may take. */
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

/** Somebody who waits for a connection. */
interface PendingItem {
  readonly callback: (error: unknown) => void;
}

/** pg's pool, with `StoreClient` as its client. */
interface DriverPool {
  newClient(pending: PendingItem): void;
  connect(): Promise<StoreClient>;
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
  readonly idleCount: number;
  readonly totalCount: number;
  readonly waitingCount: number;
}

const { waiting: MAX_WAITING, idleTimeout } = POOL_LIMITS;

interface StorePoolOptions {
  readonly max: number;
  readonly name?: string;
  /** Called whenever the server has answered, with a failure or not. */
  readonly onAnswer?: () => void;
  /** Called with each failure that the server answers. */
  readonly onFailure?: (error: unknown) => void;
}

export class StorePool extends DriverPool {
  readonly #source: ConnectionSource;
  #asking = 0;

  constructor(
    source: ConnectionSource,
    { max, name, onAnswer = () => undefined, onFailure = () => undefined }: StorePoolOptions,
  ) {
    super({
      Client: class extends StoreClient {
        constructor() {
          super({ ...source.config(), ...(name === undefined ? {} : { application_name: name }) }, source.deadline);
          this.connection.on('readyForQuery', onAnswer);
          this.connection.on('errorMessage', onFailure);
        }
      },
      max,
      connectionTimeoutMillis: source.connectTimeout,
      idleTimeoutMillis: idleTimeout,
      allowExitOnIdle: true, // a connection that nobody uses does not keep a process alive
      onConnect: (client) => greet(client, source.greeting),
    });
    this.#source = source;
    this.on('error', () => undefined); // from an idle connection, which the pool has already removed
  }

  /** Throws `store.busy` if too many wait already, or no connection comes in time. */
  override connect(): Promise<StoreClient> {
    // An idle connection that nobody else waits for is available in the next turn, so no timer is needed.
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

  /** The pool calls this at times when nobody catches what the driver's constructor throws, which would end the process. */
  override newClient(pending: PendingItem): void {
    try {
      super.newClient(pending);
    } catch (error) {
      pending.callback(error);
    }
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

/** A connection of no pool. */
export async function openClient(source: ConnectionSource): Promise<StoreClient> {
  const client = new StoreClient(source.config(), source.deadline);
  try {
    await client.connect();
    await greet(client, source.greeting);
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}

/** Runs a new connection's first statements. Throws if the connection was lost meanwhile, so that it is not handed out. */
async function greet(client: StoreClient, greeting: string | null): Promise<void> {
  if (greeting !== null) await client.run(greeting);
  client.throwIfLost();
}

/** Throws `store.busy` after `timeout` milliseconds. A connection that arrives later is returned to the pool. */
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
