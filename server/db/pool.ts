// A pool of connections to the store: how many there are, how many requests may wait for one, and for how long.
import pg from 'pg';
import { POOL_LIMITS } from '../limits.js';
import { StoreClient } from './client.js';
import { StoreError } from './failures.js';

/** How connections are made: the same for the embedded and the external store. */
export interface ConnectionSource {
  /** Of the next connection; the embedded store's address changes with its owner. */
  readonly config: () => pg.ClientConfig;
  /** What a new connection is told first, in SQL. */
  readonly greeting: string | null;
  /** Runs an attempt to get a connection, as often as makes sense. */
  readonly reach: <T>(attempt: () => Promise<T>) => Promise<T>;
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

const Driver: new (options: PoolOptions) => DriverPool = pg.Pool as never;

const { waiting: MAX_WAITING, connectTimeout, idleTimeout } = POOL_LIMITS;

export class StorePool extends Driver {
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
      connectionTimeoutMillis: connectTimeout,
      idleTimeoutMillis: idleTimeout,
      allowExitOnIdle: true, // a connection that nobody uses does not keep a process alive
      onConnect: (client) => greet(client, source.greeting),
    });
    this.#source = source;
    this.on('error', () => undefined); // of an idle connection, which is gone by then
  }

  /** Throws `store.busy` where too many wait already, or no connection comes in time. */
  override async connect(): Promise<StoreClient> {
    // One that is idle and nobody else's is there in the next turn, without a clock.
    if (this.idleCount > this.waitingCount) return super.connect();
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

/** A connection that is not handed out before it has been told what each is told, and is still there. */
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
