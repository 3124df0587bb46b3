// Driver errors told as problems. Only what the store could not do becomes one: a wrong statement of ours stays an
// unknown error and is answered as `internal`.
import knex from 'knex';
import { ApiProblem } from '../problem.js';
import type { ProblemCode } from '../problem.js';
import { codeOf, endsConnection, reasonOf, sqlStateOf } from './error-facts.js';
import { StoreError, type StoreErrorCode } from './store-error.js';

/** Error classes (first two characters) and codes of PostgreSQL, its appendix A. The code is looked up before the class. */
const SQL_STATES: ReadonlyMap<string, ProblemCode> = new Map<string, ProblemCode>([
  ['57014', 'db.timeout'], // query_canceled: statement_timeout
  ['55P03', 'db.timeout'], // lock_not_available: lock_timeout
  ['25006', 'db.unavailable'], // read_only_sql_transaction: a primary that became a standby
  ['42501', 'db.unavailable'], // insufficient_privilege: a right was taken away, or never given
  ['25P03', 'db.unavailable'], // idle_in_transaction_session_timeout
  ['58030', 'db.unavailable'], // io_error
  ['XX001', 'db.unavailable'], // data_corrupted
  ['XX002', 'db.unavailable'], // index_corrupted
  ['08', 'db.unavailable'], // connection exceptions
  ['28', 'db.unavailable'], // the password was changed under us
  ['3D', 'db.unavailable'], // the database is gone
  ['40', 'db.unavailable'], // serialization failure, deadlock: transient, and retried by whoever may retry
  ['53', 'db.unavailable'], // no disk space, no memory, no connections
  ['57', 'db.unavailable'], // shut down, crashed, starting up
]);

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

/** pg gives these no code. */
const DRIVER_MESSAGES =
  /Connection terminated|connection error and is not queryable|Client was closed and is not queryable|^timeout expired$|Connection ended|^Unable to acquire a connection$|aborted$/;

/**
 * The problem to answer with when the store failed: `db.timeout` (504) or `db.unavailable` (503), the error as its cause.
 * null: the error is not a failure of the store.
 */
export function toStoreProblem(error: unknown): ApiProblem | null {
  const code = problemCode(error);
  return code === null ? null : new ApiProblem(code, { cause: error });
}

/**
 * The same failure for operators, in words of ours: the driver's quote SQL and values. A `StoreError` is given as it is.
 * null: the error is not a failure of the store.
 */
export function toStoreError(error: unknown): StoreError | null {
  if (error instanceof StoreError) return error;
  const problem = problemCode(error);
  if (problem === null) return null;
  const code = codeOf(error);
  const [storeCode, message] =
    WORDS.get(code ?? '') ?? WORDS.get(code?.slice(0, 2) ?? '') ?? (problem === 'db.timeout' ? TIMEOUT : FAILED);
  return new StoreError(storeCode, sqlStateOf(error) === null ? message : `${message} (SQLSTATE ${String(code)})`, {
    cause: error,
  });
}

type Words = readonly [code: StoreErrorCode, message: string];

const TIMEOUT: Words = ['store.timeout', 'the store did not answer in time'];
const FAILED: Words = ['store.failed', 'the store failed, or the connection to it was lost'];

/** By SQLSTATE or its class. */
const WORDS: ReadonlyMap<string, Words> = new Map<string, Words>([
  ['25006', ['store.read_only', 'the store is read-only']],
  ['42501', ['store.rights', 'the database user lacks a right that this needs']],
  ['40', ['store.failed', 'the store gave up the transaction for the sake of another']],
  ['53', ['store.failed', 'the store has run out of disk space, memory or connections']],
]);

function problemCode(error: unknown): ProblemCode | null {
  if (error instanceof StoreError) {
    if (error.code === 'store.not_committed') return null;
    return error.code === 'store.timeout' ? 'db.timeout' : 'db.unavailable';
  }
  if (error instanceof knex.KnexTimeoutError) return 'db.unavailable';
  const code = codeOf(error);
  if (code !== null) {
    if (NETWORK_CODES.has(code)) return 'db.unavailable';
    return (
      SQL_STATES.get(code) ?? SQL_STATES.get(code.slice(0, 2)) ?? (endsConnection(error) ? 'db.unavailable' : null)
    );
  }
  return DRIVER_MESSAGES.test(reasonOf(error)) ? 'db.unavailable' : null;
}
