// Transactions of requests, straight to the driver and with as few round trips as possible. BEGIN travels with the
// first statements, statements of the same turn of the event loop travel together, and a statement that is run only for
// its effect goes with the next one that is waited for, or with COMMIT.
import type { StoreClient, StorePool } from './connections.js';
import { makeStatementNames, queryOf } from './prepared.js';
import { type Answered, isFull, type Query, readRows, send } from './send.js';
import type { Fragment } from './sql.js';
import { assertCommitted, again, type TransactionOptions } from './transaction.js';

export interface Writing {
  readonly rows: <Row>(statement: Fragment) => Promise<readonly Row[]>;
  /**
   * Runs the statement before everything that is asked for later. Its failure reaches whoever waits for one of those or
   * for the transaction.
   */
  readonly run: (statement: Fragment) => void;
}

/** Like `inTransaction`, for work that needs only statements. `work` must wait for everything that it has asked for. */
export type Writer = <T>(work: (writing: Writing) => Promise<T>, options?: TransactionOptions) => Promise<T>;

const BEGIN: Query = { name: 'bailiwick begin', text: 'BEGIN', values: [] };
const COMMIT: Query = { name: 'bailiwick commit', text: 'COMMIT', values: [] };

export function makeWriter(pool: StorePool): Writer {
  const names = makeStatementNames();
  const once = async <T>(work: (writing: Writing) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    const trips = makeTrips(client);
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
      const place = trips.load(COMMIT);
      assertCommitted((await trips.answers())[place]?.command);
      return result;
    } catch (error) {
      await rollback(client);
      throw error;
    } finally {
      client.release(client.isLost || isFull(client));
    }
  };
  return (work, options) => again(() => once(work), options);
}

interface Trips {
  /** Adds the statement to the next trip and returns its place there. */
  readonly load: (query: Query) => number;
  /** The answers of the next trip. It leaves at the end of the turn in which this is called. */
  readonly answers: () => Promise<readonly Answered[]>;
}

function makeTrips(client: StoreClient): Trips {
  let load: Query[] = [BEGIN];
  let trip: Promise<readonly Answered[]> | null = null;
  const leave = (): Promise<readonly Answered[]> => {
    const queries = load;
    load = [];
    trip = null;
    return send(client, queries);
  };
  return {
    load: (query) => load.push(query) - 1,
    answers: () => (trip ??= Promise.resolve().then(leave)),
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
