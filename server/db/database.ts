// The door to the store. Everything above sees the same interface, whether the server is the embedded engine or the
// operator's PostgreSQL.
//
// There are three pools, so that none can take the connections of another: `read` for the statements of requests, one
// for everything that writes or needs a transaction, and `vital` for keys and health, which must answer even while
// queries take all they can.
import { createRequire } from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type * as KnexPackage from 'knex';
import type { Knex } from 'knex';
import { DATABASE_LIMITS, EMBEDDED_LIMITS, POOL_LIMITS } from '../limits/store.js';
import { VITAL } from './embedded/session.js';
import { embeddedSource } from './embedded/source.js';
import { externalSource, probeExternal, replicaSources, type StoreShape } from './external.js';
import { type FullDisk, watchDisk } from './full-disk.js';
import { makeListener, type NotificationHandler, type Subscription } from './listen.js';
import { type ConnectionSource, StorePool } from './connections.js';
import { makeReader, makeStatementNames, type StoreReader } from './prepared.js';
import { openReplicas, type ReplicasOptions, type ReplicaState } from './replica.js';
import { inTransaction, type TransactionOptions } from './transaction.js';
import { StoreError } from './failures.js';
import { sql } from './sql.js';
import { outsideIndexes } from './tables.js';
import { makeBriefTurns } from '../lib/turns.js';
import { makeWriters, type OneWriter, type Rows, type StoreWriter } from './writing.js';

export type DatabaseConfig =
  /** `dataDir` is the folder of the gateway's data; the store is in `store/` below it. */
  | ({ readonly kind: 'embedded'; readonly dataDir: string } & Limits)
  /** `url` is postgres://user:password@host/database, with the parameters that pg takes. */
  | ({ readonly kind: 'external'; readonly url: string } & Limits & {
        /** Replicas that queries may read from. */
        readonly readUrls?: readonly string[];
        /** How old the answers of a replica may be, in milliseconds. */
        readonly replicaLag?: number;
      });

/**
 * Called once with a one-line message, if another process owns the folder's store and does not answer within two
 * seconds.
 */
export type OnWait = (message: string) => void;

interface Limits {
  /**
   * Milliseconds that a statement may take; 0 is no limit (for migrations and loading). This and all below default to
   * `DATABASE_LIMITS`.
   */
  readonly statementTimeout?: number;
  /** Connections of this process for queries. */
  readonly maxConnections?: number;
  /** Connections for transactions and everything else that knex runs. Defaults to no more than those for queries. */
  readonly maxWriters?: number;
  /** Connections for keys and health. */
  readonly maxVital?: number;
  /** Milliseconds that a transaction may idle before it is rolled back and its connection ended. */
  readonly idleInTransaction?: number;
  /** Milliseconds that opening a connection may take. */
  readonly connectTimeout?: number;
  /** Milliseconds that a request may wait for a connection; null means the usual time for the kind of store. */
  readonly acquireTimeout?: number | null;
  /** Called when a write finds the disk full, and not again before there was room. */
  readonly onFull?: (failure: StoreError) => void;
  /** Only for an embedded store. */
  readonly onWait?: OnWait;
  /** Only for an embedded store: another process will own it, and this one waits for that as long as it takes. */
  readonly isGuest?: true;
}

/** Tables whose rows soon go again. */
type OftenEmptied = 'audit_outbox' | 'changes' | 'changes_pending';

/** One pool of connections. */
export interface PoolFacts {
  readonly name: 'read' | 'write' | 'vital';
  readonly max: number;
  readonly open: number;
  /** How many of the open connections are free. */
  readonly free: number;
  /** How many requests wait for a connection. */
  readonly waiting: number;
}

export interface Database {
  readonly kind: 'embedded' | 'external';
  /** Whether records were in several partitions when the store was opened (server/db/partitions.ts). */
  readonly isPartitioned: boolean;
  /** For migrations and `load`. Loaded when it is first used: a gateway does without. */
  readonly knex: Knex;
  /** Reads rows for requests. Statements that are used again are prepared, and a signal stops a statement. */
  readonly read: StoreReader;
  /** Like `read`, but from a replica whose answers are no older than allowed, while there is one. */
  readonly readReplica: StoreReader;
  /** The state of each replica. */
  readonly replicas: () => readonly ReplicaState[];
  /** How many milliseconds older than the primary what `readReplica` finds may be; null if there are no replicas. */
  readonly replicaLag: number | null;
  /**
   * Milliseconds after which a query must end itself. Only for a store that cannot stop a query while everybody else
   * waits; null for other stores.
   */
  readonly longestQuery: number | null;
  /** Like `read`, on connections that queries cannot take. Only for keys and health. */
  readonly vital: StoreReader;
  /** Runs one statement by itself, on the connections of transactions. */
  readonly rows: Rows;
  /** Forgets what was removed from these tables, which nothing else does on the embedded store. */
  readonly vacuum: (...tables: readonly OftenEmptied[]) => Promise<void>;
  /** Transactions. */
  readonly write: StoreWriter;
  /** Transactions of one statement. */
  readonly writeOne: OneWriter;
  /** Those of migrations and `load`: see `inTransaction`. */
  transaction<T>(work: (transaction: Knex.Transaction) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Calls the handler for each NOTIFY of the channel, whichever process sent it, until it is closed. Survives lost
   * connections, and a store that is away at first.
   */
  listen(channel: string, handler: NotificationHandler): Promise<Subscription>;
  /** What the pools hold now. */
  pools(): readonly PoolFacts[];
  /** Remembers that the disk is full, if the error of another process says so. */
  readonly hearOfDisk: FullDisk['hear'];
  /**
   * Resolves if the store answers, answers statements as queries send them, and has room for what is written. Rejects
   * with an error that `storeFailure` understands.
   */
  ping(): Promise<void>;
  /**
   * Ends the connections, each when what it is used for ends, which is waited for 5 seconds. An embedded store that this
   * process owns is closed cleanly and handed to the next process that asks for it. False if its disk does not answer,
   * which may keep the process for as long.
   */
  close(): Promise<boolean>;
}

/**
 * Opens the store and waits until it answers. An embedded store is created if there is none. Throws `StoreError`:
 * `store.url`, `store.unreachable`, `store.refused`, `store.locked`, `store.corrupt` and so on.
 */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const usual = DATABASE_LIMITS;
  const limits = {
    statementTimeout: config.statementTimeout ?? usual.statementTimeout,
    idleInTransaction: config.idleInTransaction ?? usual.idleInTransaction,
    connectTimeout: config.connectTimeout ?? usual.connectTimeout,
    acquireTimeout: config.acquireTimeout ?? usual.acquireTimeout[config.kind],
  };
  const { maxConnections = usual.maxConnections, maxVital = usual.maxVital } = config;
  const { maxWriters = Math.min(usual.maxWriters, maxConnections) } = config;
  const shared = { maxConnections, maxWriters, maxVital, onFull: config.onFull };
  if (config.kind === 'external') {
    const source = externalSource({ url: config.url, ...limits });
    const { readUrls = [], replicaLag: lag = usual.replicaLag } = config;
    const sources = replicaSources(readUrls, limits);
    const shape = await probeExternal(source);
    const closeStore = (): Promise<boolean> => Promise.resolve(true);
    const longest = { longestQuery: null, longestTransaction: limits.statementTimeout || null };
    return database(config.kind, { source, replicas: { sources, lag }, ...shape, ...shared, ...longest, closeStore });
  }
  const { dataDir, onWait, isGuest } = config;
  const embedded = embeddedSource({
    dataDir,
    ...limits,
    isGuest: isGuest === true,
    ...(onWait === undefined ? {} : { onWait }),
  });
  await embedded.start();
  const longestQuery =
    limits.statementTimeout === 0 ? null : Math.ceil(limits.statementTimeout * EMBEDDED_LIMITS.queryShare);
  const { source, close: closeStore } = embedded;
  const longest = { longestQuery, longestTransaction: longestQuery };
  return database(config.kind, { source, replicas: null, isPartitioned: false, ...shared, ...longest, closeStore });
}

interface Parts extends StoreShape {
  readonly source: ConnectionSource;
  readonly replicas: Pick<ReplicasOptions, 'sources' | 'lag'> | null;
  readonly maxConnections: number;
  readonly maxWriters: number;
  readonly maxVital: number;
  readonly longestQuery: number | null;
  /** Milliseconds for a transaction of a request; null is no limit. */
  readonly longestTransaction: number | null;
  readonly closeStore: () => Promise<boolean>;
  readonly onFull: ((failure: StoreError) => void) | undefined;
}

function database(kind: Database['kind'], parts: Parts): Database {
  const { source, maxConnections, maxWriters, maxVital, longestQuery, longestTransaction, closeStore } = parts;
  let answeredAt = performance.now();
  const onAnswer = (): void => {
    answeredAt = performance.now();
  };
  const readers = new StorePool(source, { max: maxConnections, onAnswer });
  const vitals = new StorePool(source, { max: maxVital, name: VITAL, onAnswer });
  const vital = makeReader(vitals);
  const disk = watchDisk(vital, parts.onFull);
  const writers = new StorePool(source, { max: maxWriters, onAnswer, onFailure: disk.hear });
  let builder: Knex | null = null;
  const knexOf = (): Knex => (builder ??= makeKnex(writers));
  const listener = makeListener(source);
  const read = makeReader(readers, kind === 'embedded' ? makeBriefTurns(EMBEDDED_LIMITS.briefQuery) : null);
  const names = makeStatementNames();
  const replicas =
    parts.replicas === null || parts.replicas.sources.length === 0
      ? null
      : openReplicas({ ...parts.replicas, maxConnections, primary: { read, vital } });
  let closing: Promise<boolean> | null = null;
  const close = async (): Promise<boolean> => {
    await listener.close();
    await Promise.race([replicas?.close(), patience()]);
    await Promise.race([Promise.all([readers, writers, vitals].map((pool) => pool.end())), patience()]);
    return closeStore();
  };
  return {
    kind,
    isPartitioned: parts.isPartitioned,
    longestQuery,
    get knex() {
      return knexOf();
    },
    read,
    readReplica: replicas?.read ?? read,
    replicas: replicas?.states ?? (() => []),
    replicaLag: replicas === null ? null : (parts.replicas?.lag ?? null),
    vital,
    rows: makeReader(writers, null, names),
    vacuum: (...tables) => writers.run(`VACUUM ${tables.join(', ')}`),
    ...makeWriters(writers, {
      time: longestTransaction,
      perAsker: kind === 'embedded' ? 1 : Math.max(1, maxWriters - 1),
      isSerial: kind === 'embedded',
      names,
    }),
    transaction: (work, options) => inTransaction(knexOf(), work, options),
    listen: (channel, handler) => listener.listen(channel, handler),
    pools: () => [
      { name: 'read', max: maxConnections, ...readers.facts() },
      { name: 'write', max: maxWriters, ...writers.facts() },
      { name: 'vital', max: maxVital, ...vitals.facts() },
    ],
    hearOfDisk: disk.hear,
    ping: async () => {
      try {
        await Promise.all([
          kind === 'embedded' ? vitals.run('select 1') : assertPrimary(vital),
          tryReading(read),
          source.assertOpens(),
        ]);
        await disk.assertRoom();
      } catch (error) {
        if (kind === 'embedded' || !isBusy(error)) throw error;
        // Requests that wait for a server which is gone take all connections, too. An answer that is there already counts.
        await nextTurn();
        const silent = performance.now() - answeredAt;
        if (silent <= (source.deadline || POOL_LIMITS.silence)) throw error;
        throw new StoreError('store.timeout', `the store has answered nothing for ${String(Math.round(silent))} ms`);
      }
    },
    close: () => (closing ??= close()),
  };
}

const load: (name: 'knex') => typeof KnexPackage = createRequire(import.meta.url);

function makeKnex(pool: StorePool): Knex {
  return load('knex').knex({
    client: 'pg',
    version: '15', // of the SQL to write, so that knex asks no server
    connectionPool: pool,
    compileSqlOnError: false, // an error's message must not hold values
    log: { warn: ignoreNoise, error: warn, deprecate: warn },
  });
}

/**
 * A statement of the kind that queries send, on a connection of theirs. So a pooler that cannot take prepared statements
 * is found, and connections without their settings. That all connections are taken is no fault of the store.
 */
async function tryReading(read: StoreReader): Promise<void> {
  try {
    await read(sql`SELECT 1 FROM records AS r WHERE r.id = ${NOBODY}::uuid AND ${outsideIndexes(sql`r`)}`);
  } catch (error) {
    if (!isBusy(error)) throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'store.busy';
}

/** Queries do not notice what takes no writes, such as a primary that has become a standby. */
async function assertPrimary(vital: StoreReader): Promise<void> {
  const [row] = await vital<WritingRow>(
    sql`SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = ${'on'}::text AS "readOnly"`,
  );
  if (row?.standby === true) throw new StoreError('store.read_only', 'the server is a standby');
  if (row?.readOnly === true)
    throw new StoreError('store.read_only', 'the server, the database or its user is set to read-only');
}

interface WritingRow {
  readonly standby: boolean;
  readonly readOnly: boolean;
}

/** The id of no record. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

function patience(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, POOL_LIMITS.closeTimeout).unref();
  });
}

/**
 * knex warns about each connection that it does not get, and about each failed migration, quoting its SQL. The caller
 * gets these as errors anyway. Any other warning is a mistake of ours.
 */
function ignoreNoise(message: unknown): void {
  const text = String(message);
  if (!/^(?:Acquire connection error:|migration file "[^"]*" failed|migration failed with error:)/.test(text))
    warn(text);
}

function warn(message: unknown): void {
  process.emitWarning(String(message), { code: 'BAILIWICK_STORE' });
}
