// One knex over connections of our own making: the same for the embedded and the external store. Here are the limits
// (waiting requests, time to get a connection, time of a statement) and the listeners that keep a broken connection
// from ever ending the process.
import knex from 'knex';
import type { Knex } from 'knex';
import type pg from 'pg';
import { endsConnection } from './failures.js';
import { StoreError } from './store-error.js';

export interface ConnectionSource {
  /** Makes one connection, connected. Called again whenever the pool needs one. */
  readonly connect: () => Promise<pg.Client>;
  readonly maxConnections: number;
  /** Milliseconds a request may wait for a connection. */
  readonly acquireTimeout: number;
  /** Milliseconds after which a statement is given up and its connection dropped; 0 is never. */
  readonly deadline: number;
}

/** Requests that may wait for a connection; one more is refused at once (design 7). */
const MAX_WAITING = 64;

/** What knex's client is to us: made by knex, with these methods replaced. Its own type says `any`. */
export interface KnexClient {
  acquireRawConnection: () => Promise<Connection>;
  acquireConnection: () => Promise<Connection>;
  releaseConnection: (connection: Connection) => Promise<void>;
  destroyRawConnection: (connection: Connection) => Promise<void>;
  readonly emit: (event: 'query', query: { readonly sql: string; readonly bindings: readonly unknown[] }) => void;
  readonly pool?: { numPendingAcquires: () => number; readonly interval?: NodeJS.Timeout | null };
}

/** pg's client with what its types leave out. */
export interface Connection extends Omit<pg.Client, 'query' | 'connection'> {
  query: (...parameters: unknown[]) => unknown;
  ref: () => void;
  unref: () => void;
  readonly connection: {
    readonly stream: { destroy: () => void };
    /** By name, what the driver takes for prepared. */
    readonly parsedStatements: Record<string, string>;
    readonly close: (what: { readonly type: 'S'; readonly name: string }) => void;
  };
  /** knex drops a pooled connection that carries this mark. */
  __knex__disposed?: unknown;
}

export function createKnex(source: ConnectionSource): Knex {
  const db = knex({
    client: 'pg',
    version: '15', // of the SQL to write, so that knex asks no server
    connection: {},
    compileSqlOnError: false, // an error's message must not hold values
    pool: {
      min: 0,
      max: source.maxConnections,
      acquireTimeoutMillis: source.acquireTimeout,
      createTimeoutMillis: 60_000,
      idleTimeoutMillis: 30_000,
    },
    log: { warn: ignoreConnectionNoise, error: warn, deprecate: warn },
  });
  const client = clientOf(db);
  const acquire = client.acquireConnection.bind(client);
  const release = client.releaseConnection.bind(client);

  client.acquireRawConnection = async () => {
    const connection = (await source.connect()) as unknown as Connection;
    watch(connection);
    superviseStatements(connection, source.deadline);
    return connection;
  };
  client.destroyRawConnection = async (connection) => {
    connection.ref(); // or a process with nothing else to do would leave before the goodbye is sent
    await connection.end();
  };
  client.acquireConnection = async () => {
    if ((client.pool?.numPendingAcquires() ?? 0) >= MAX_WAITING) {
      throw new StoreError('store.busy', `more than ${String(MAX_WAITING)} requests wait for the store`);
    }
    const connection = await acquire();
    connection.ref();
    return connection;
  };
  client.releaseConnection = async (connection) => {
    connection.unref(); // a connection that nobody uses does not keep a process alive
    await release(connection);
    client.pool?.interval?.unref(); // nor does the timer that would close it
  };
  stores.add(db);
  return db;
}

const stores = new WeakSet<Knex>();

/** Whether this is a store's own knex: no transaction, and nothing that stands before it and may have a say in what is run. */
export function isStore(db: Knex): boolean {
  return stores.has(db);
}

export function clientOf(db: Knex): KnexClient {
  return db.client as KnexClient;
}

/** A killed backend or a lost network says so by an `error` event, which ends the process where nobody listens. */
function watch(connection: Connection): void {
  connection.on('error', (error) => {
    connection.__knex__disposed ??= error;
  });
  connection.on('end', () => {
    connection.__knex__disposed ??= new Error('the connection has ended');
  });
}

type QueryCallback = (error: Error | null, result?: unknown) => void;

/**
 * Gives up a statement after `deadline` ms: its caller gets `store.timeout` and the connection is dropped, since its
 * answer may still come (the embedded engine cannot cancel) or never (a network that swallows packets). A connection whose
 * server said goodbye in an answer is dropped at once, too: its end comes later, when others might have got it already.
 */
function superviseStatements(connection: Connection, deadline: number): void {
  const query = connection.query.bind(connection);
  connection.query = (...parameters) => {
    const callback = parameters.at(-1);
    if (typeof callback !== 'function') return query(...parameters);
    const answer = callback as QueryCallback;
    let settled = false;
    const settle: QueryCallback = (error, result) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (error !== null && endsConnection(error)) connection.__knex__disposed ??= error;
      answer(error, result);
    };
    const giveUp = (): void => {
      const error = new StoreError('store.timeout', `the store did not answer within ${String(deadline)} ms`);
      connection.__knex__disposed = error;
      settle(error);
      connection.connection.stream.destroy();
    };
    const timer = deadline === 0 ? undefined : setTimeout(giveUp, deadline);
    return query(...parameters.slice(0, -1), settle);
  };
}

/**
 * knex warns of each dropped connection, failed acquire and failed migration, the last with its SQL; the caller gets those as
 * errors. All else is a mistake of ours.
 */
function ignoreConnectionNoise(message: unknown): void {
  const text = String(message);
  if (!NOISE.test(text)) warn(text);
}

const NOISE =
  /^(?:Connection Error:|Acquire connection error:|migration file "[^"]*" failed|migration failed with error:)/;

function warn(message: unknown): void {
  process.emitWarning(String(message), { code: 'BAILIWICK_STORE' });
}
