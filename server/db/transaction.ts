// Transactions that are known to have committed. PostgreSQL answers COMMIT of a failed transaction with the command
// ROLLBACK and no error. knex calls that success, so an acknowledged write would be lost. Here it is an error.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Knex } from 'knex';
import { POOL_LIMITS } from '../limits/store.js';
import { sqlStateOf, StoreError } from './failures.js';

export interface TransactionOptions {
  /**
   * How many times the transaction is repeated if the store aborted it in favour of another. `work` must tolerate that.
   * Defaults to none.
   */
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

/** Checks the server's answer to COMMIT. */
export function assertCommitted(command: unknown): void {
  if (command === 'COMMIT') return;
  throw new StoreError('store.not_committed', 'the transaction was rolled back when it should have been committed');
}

/** If ROLLBACK fails, the connection is gone, and the transaction with it. The first error is the one that counts. */
async function rollback(transaction: Knex.Transaction): Promise<void> {
  try {
    await transaction.rollback();
    await transaction.executionPromise;
  } catch {
    return;
  }
}

/** knex returns its query object, which holds the driver's answer. */
function commandOf(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return null;
  if ('command' in answer) return answer.command;
  return 'response' in answer ? commandOf(answer.response) : null;
}
