// Transactions that are known to have committed. PostgreSQL answers COMMIT of a failed transaction with the command
// ROLLBACK and no error, and knex calls that success (an acknowledged write would be lost): here it is an error.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { POOL_LIMITS } from '../limits/store.js';
import { sqlStateOf, StoreError } from './failures.js';

export type Transaction = Knex.Transaction;

export interface TransactionOptions {
  /** How many times it is begun again where the store gave it up for the sake of another; `work` must bear that. None unless said. */
  readonly retry?: number;
}

/** serialization_failure and deadlock_detected: nothing was done, and the same may succeed now. */
const RETRIED: ReadonlySet<string> = new Set(['40001', '40P01']);

/**
 * Runs `work` in one transaction and returns what it returns, once COMMIT has said that it committed.
 * An error of `work` rolls back and is thrown as it is. Use savepoints or ON CONFLICT for failures that `work` expects:
 * after any other caught failure nothing can be committed, and `StoreError` `store.not_committed` is thrown.
 */
export async function inTransaction<T>(
  db: Knex,
  work: (transaction: Knex.Transaction) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  return again(() => once(db, work), options);
}

export async function again<T>(once: () => Promise<T>, { retry = 0 }: TransactionOptions = {}): Promise<T> {
  for (let times = 0; ; times += 1) {
    try {
      return await once();
    } catch (error) {
      if (times >= retry || !RETRIED.has(sqlStateOf(error) ?? '')) throw error;
      await sleep(POOL_LIMITS.transactionRetry * 2 ** times * (0.5 + Math.random()));
    }
  }
}

async function once<T>(db: Knex, work: (transaction: Knex.Transaction) => Promise<T>): Promise<T> {
  const transaction = await db.transaction();
  // knex hands out a transaction whose BEGIN has failed as well; this throws the reason
  if (transaction.isCompleted()) await transaction.executionPromise;
  let result: T;
  try {
    result = await work(transaction);
  } catch (error) {
    await rollback(transaction);
    throw error;
  }
  const answer: unknown = await transaction.commit();
  await transaction.executionPromise;
  assertCommitted(commandOf(answer));
  return result;
}

/** Of what the server says to COMMIT. */
export function assertCommitted(command: unknown): void {
  if (command === 'COMMIT') return;
  throw new StoreError('store.not_committed', 'the transaction was rolled back when it should have been committed');
}

/** A failing ROLLBACK means that the connection is gone, and the transaction with it: the first error is what counts. */
async function rollback(transaction: Knex.Transaction): Promise<void> {
  try {
    await transaction.rollback();
    await transaction.executionPromise;
  } catch {
    return;
  }
}

/** knex hands out its query object, with the driver's answer in it. */
function commandOf(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return null;
  if ('command' in answer) return answer.command;
  return 'response' in answer ? commandOf(answer.response) : null;
}
