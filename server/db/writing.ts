// Transactions, straight to the driver and with as few round trips as possible. BEGIN travels with the
// first statements, statements of the same turn of the event loop travel together, and a statement that is run only for
// its effect goes with the next one that is waited for, or with COMMIT. A transaction of one statement takes one trip and
// neither BEGIN nor COMMIT: the server commits it before it says that it is ready for the next.
import type { StoreClient, StorePool } from './connections.js';
import { StoreError } from './failures.js';
import { makeStatementNames, queryOf, type StatementNames } from './prepared.js';
import { isFull, type Query, readRows, sendStoppable, type StatementAnswer } from './send.js';
import type { Fragment } from './sql.js';
import { assertCommitted, again, type TransactionOptions } from './transaction.js';
import { makeTurns } from '../lib/turns.js';

export type Rows = <Row>(statement: Fragment) => Promise<readonly Row[]>;

/** What runs statements: a store, each by itself, or one transaction of it. */
export interface Store {
  readonly rows: Rows;
}

export interface Writing extends Store {
  /**
   * Runs the statement before everything that is asked for later. Its failure reaches whoever waits for one of those or
   * for the transaction.
   */
  readonly run: (statement: Fragment) => void;
}

export interface WriteOptions extends TransactionOptions {
  /** Who asks. One asker never has all connections. */
  readonly asker?: string;
  /** Keeps the transaction from beginning. */
  readonly signal?: AbortSignal;
  /** Adds up the time of transactions that belong together, for all of which the time is limited. */
  readonly spent?: Spent;
}

export interface Spent {
  /** Milliseconds. */
  time: number;
}

/**
 * Like `inTransaction`, for work that needs only statements. `work` must wait for everything that it has asked for. If
 * it takes too long, it is rolled back, and this rejects with `store.timeout`. A failure from COMMIT on, of which nobody
 * knows whether it came too late, is a `StoreError` that is in doubt.
 */
export type StoreWriter = <T>(work: (writing: Writing) => Promise<T>, options?: WriteOptions) => Promise<T>;

/**
 * Runs one statement as a transaction. It is made when a connection is free, since it may depend on what is so then; null
 * runs nothing and gives no rows. If it takes too long, it is stopped, and this rejects with `store.timeout`. A store
 * that does one transaction at a time cannot stop it. A failure may be in doubt, as with `StoreWriter`.
 */
export type OneWriter = <Row>(make: () => Fragment | null, options?: WriteOptions) => Promise<readonly Row[]>;

export interface Writers {
  readonly write: StoreWriter;
  readonly writeOne: OneWriter;
}

export interface WriterLimits {
  /** Milliseconds for a transaction, with those that are repeated; null is no limit. */
  readonly time: number | null;
  /** Transactions of one asker at once. */
  readonly perAsker: number;
  /**
   * Whether the store does one transaction at a time. There the time begins when the transaction does, after those of
   * others. The next transaction of the same asker may queue up as soon as COMMIT is sent.
   */
  readonly isSerial: boolean;
  /** Whoever else uses the pool gives the same names. */
  readonly names?: StatementNames;
}

const BEGIN: Query = { name: 'bailiwick begin', text: 'BEGIN', values: [] };
const COMMIT: Query = { name: 'bailiwick commit', text: 'COMMIT', values: [] };

export function makeWriters(
  pool: StorePool,
  { time, perAsker, isSerial, names = makeStatementNames() }: WriterLimits,
): Writers {
  const turns = makeTurns(perAsker);
  /** Repeats what `once` does on a connection, as the asker's turns, the time and the store allow. */
  const inTurn = <T>(
    once: (attempt: Attempt) => Promise<T>,
    { asker, signal, spent = { time: 0 }, ...options }: WriteOptions = {},
  ): Promise<T> =>
    again(async () => {
      const leave = asker === undefined ? () => undefined : await turns.enter(asker);
      try {
        const client = await pool.connect();
        const clock = makeClock(time, spent);
        if (!isSerial) clock.start();
        try {
          signal?.throwIfAborted();
          return await once({ client, clock, ...(isSerial ? { leave, asker } : { leave: () => undefined }) });
        } finally {
          clock.stop();
          client.release(client.isLost || isFull(client));
        }
      } finally {
        leave();
      }
    }, options);
  return {
    write: (work, options) => inTurn((attempt) => transact(work, attempt, names), options),
    writeOne: <Row>(make: () => Fragment | null, options?: WriteOptions) =>
      inTurn<readonly Row[]>(async ({ client, clock, leave, asker }) => {
        const statement = make();
        if (statement === null) return [];
        const { signal } = clock;
        const answers = sendStoppable(client, [queryOf(statement, names)], { signal, commits: true, asker });
        leave();
        return readRows(answers, 0);
      }, options),
  };
}

async function transact<T>(
  work: (writing: Writing) => Promise<T>,
  { client, clock, leave, asker }: Attempt,
  names: StatementNames,
): Promise<T> {
  const trips = makeTrips(client, clock, asker);
  try {
    const result = await work({
      rows: (statement) => {
        const place = trips.load(queryOf(statement, names));
        return readRows(trips.answers(), place);
      },
      run: (statement) => {
        trips.load(queryOf(statement, names));
      },
    });
    const committing = trips.commit();
    leave();
    assertCommitted((await committing)?.command);
    return result;
  } catch (error) {
    await rollback(client);
    throw error;
  }
}

interface Attempt {
  readonly client: StoreClient;
  readonly clock: Clock;
  /** Called when the last statement is sent. On a store that does one transaction at a time, it gives the asker's turn on. */
  readonly leave: () => void;
  /** Told to a store that does one transaction at a time. */
  readonly asker?: string | undefined;
}

/** The time of one transaction. */
interface Clock {
  /** Aborted when time is up. */
  readonly signal: AbortSignal;
  /** Only the first call counts. */
  readonly start: () => void;
  readonly stop: () => void;
}

function makeClock(limit: number | null, spent: Spent): Clock {
  const ending = new AbortController();
  let begun: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  return {
    signal: ending.signal,
    start: () => {
      if (begun !== null) return;
      begun = performance.now();
      if (limit === null) return;
      timer = setTimeout(
        () => {
          ending.abort(new StoreError('store.timeout', `the transaction took longer than ${String(limit)} ms`));
        },
        Math.max(limit - spent.time, 0),
      );
    },
    stop: () => {
      clearTimeout(timer);
      if (begun !== null) spent.time += performance.now() - begun;
    },
  };
}

interface Trips {
  /** Adds the statement to the next trip and returns its place there. */
  readonly load: (query: Query) => number;
  /** The answers of the next trip. It departs at the end of the turn in which this is called. */
  readonly answers: () => Promise<readonly StatementAnswer[]>;
  /** The answer to COMMIT, which departs with the rest. Nothing stops it any more: only its answer tells what was done. */
  readonly commit: () => Promise<StatementAnswer | undefined>;
}

function makeTrips(client: StoreClient, clock: Clock, asker: string | undefined): Trips {
  let load: Query[] = [BEGIN];
  let trip: Promise<readonly StatementAnswer[]> | null = null;
  let isLast = false;
  const depart = async (): Promise<readonly StatementAnswer[]> => {
    clock.signal.throwIfAborted();
    const queries = load;
    load = [];
    trip = null;
    const answers = await sendStoppable(client, queries, {
      signal: isLast ? undefined : clock.signal,
      commits: isLast,
      asker,
    });
    clock.start();
    return answers;
  };
  const answers = (): Promise<readonly StatementAnswer[]> => (trip ??= Promise.resolve().then(depart));
  return {
    load: (query) => load.push(query) - 1,
    answers,
    commit: async () => {
      isLast = true;
      const place = load.push(COMMIT) - 1;
      return (await answers())[place];
    },
  };
}

/** If ROLLBACK fails, the connection is gone, and the transaction with it. The first error is the one that counts. */
async function rollback(client: StoreClient): Promise<void> {
  if (client.isLost) return;
  try {
    await client.run('ROLLBACK');
  } catch {
    client.lose(new Error('a transaction could not be rolled back'));
  }
}
