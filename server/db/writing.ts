// Transactions of requests, straight to the driver and with as few trips to the server as they need: BEGIN travels with the first
// statements, statements that are asked for in one turn travel together, and what is run for its effect alone goes with the next that
// is waited for, or with COMMIT.
import type { StoreClient, StorePool } from './connections.js';
import { makeStatementNames, queryOf } from './prepared.js';
import { type Answered, isFull, type Query, readRows, send } from './send.js';
import type { Fragment } from './sql.js';
import { assertCommitted, again, type TransactionOptions } from './transaction.js';

export interface Writing {
  readonly rows: <Row>(statement: Fragment) => Promise<readonly Row[]>;
  /** Runs the statement before all that is asked for later; whoever waits for that, or for the whole, hears of its failure. */
  readonly run: (statement: Fragment) => void;
}

/** As `inTransaction`, for whatever needs no more than statements. `work` must not go on without waiting for what it has asked for. */
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
  /** Gives the place of the statement on the next trip. */
  readonly load: (query: Query) => number;
  /** Of the next trip, which leaves at the end of the turn in which this is asked. */
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

/** A failing ROLLBACK means that the connection is gone, and the transaction with it: the first error is what counts. */
async function rollback(client: StoreClient): Promise<void> {
  if (client.isLost) return;
  try {
    await client.run('ROLLBACK');
  } catch {
    client.lose(new Error('a transaction could not be rolled back'));
  }
}
