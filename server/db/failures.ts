// What can go wrong with the store. Each failure has a stable code and advice, which operators see on the command line
// and in the log. Clients never see them; they get the problems of `http/store-problem.ts`. Errors are judged by their
// properties and not by their class, because errors of Node, of the driver and of another thread are not all instances
// of this realm's `Error`. A wrong statement of ours is not a failure of the store: it stays an unknown error.

import { LOG_LIMITS } from '../limits/logs.js';
import { isTold } from '../telemetry/sql-state.js';

const ADVICE = {
  'store.url':
    'give DATABASE_URL as postgres://user:password@host:5432/database, or postgres:///database?host=/folder/of/socket',
  'store.unreachable': 'check that PostgreSQL runs there and that host, port and network are right',
  'store.refused':
    'check user, password, database name and pg_hba.conf; a password comes from the database URL (or the file that DATABASE_URL_FILE names), PGPASSWORD or PGPASSFILE',
  'store.pooler':
    'use session pooling for this database and user (in pgbouncer `pool_mode = session`, with a `pool_size` for all connections of all gateways), or name PostgreSQL itself; docs/operating.md, "Poolers"',
  'store.tls':
    'in DATABASE_URL, name the certificate of your own authority with sslrootcert=<file>; every sslmode but disable and no-verify checks certificate and host name, as verify-full does',
  'store.full': 'free space on its disk: nothing that was stored is lost, and a running gateway recovers by itself',
  'store.locked': 'stop the process that uses the folder, or give this one a folder of its own with --data-dir',
  'store.folder': 'give a folder that this user may read and write with --data-dir',
  'store.socket': 'set TMPDIR to a short path on a local disk that this user may write',
  'store.unsupported': 'give an external PostgreSQL with DATABASE_URL',
  'store.version': 'open the store with the release that wrote it, or load the data into a new one',
  'store.corrupt': 'restore the folder from a backup, or move it away and load the data into a new one',
  'store.silent':
    'see what the log of the system says about this disk; once it answers, start again: what was stored is not lost',
  'store.replaced': 'restart this process; nothing that was stored is lost',
  'store.start': 'see the reason; free memory or disk space, then start again',
  'store.foreign': 'rename, move or drop it, or use a database of its own',
  'store.busy': 'wait, or send less at once',
  'store.timeout': 'ask for less at once',
  'store.connections':
    'wait, raise `max_connections` of the server, the limit of the role or the `pool_size` of a pooler, or lower `database.maxConnections` and `maxWriters`',
  'store.failed': 'check that the store runs, and read its log',
  'store.read_only': 'let the server and the user of DATABASE_URL write, or name the primary',
  'store.rights':
    'let the user of DATABASE_URL create the schema `bailiwick` or own it with its tables, or name one that does',
  'store.grants':
    'run deploy/postgresql/grants.sql as the owner of the schema `bailiwick`, as after each `bailiwick migrate`, or let DATABASE_URL name that owner',
  'store.closed': 'open the store again',
  'store.not_committed': 'this is a bug of bailiwick: a statement failed inside a transaction that was then committed',
} as const;

export type StoreErrorCode = keyof typeof ADVICE;

/** The message says what is wrong, and `help` says what to do. Neither ever holds a password or a value of a record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  readonly help: string;
  /** Whether nobody knows if what was to be written is stored. */
  readonly isInDoubt: boolean;

  constructor(
    code: StoreErrorCode,
    message: string,
    { isInDoubt = false, ...options }: { readonly cause?: unknown; readonly isInDoubt?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.help = ADVICE[code];
    this.isInDoubt = isInDoubt;
  }
}

/** The store did not answer in time, or not at all. */
export type StoreFailure = 'timeout' | 'unavailable';

/** Error classes (first two characters) and codes of PostgreSQL, its appendix A. The code is looked up before the class. */
const SQL_STATES: ReadonlyMap<string, StoreFailure> = new Map<string, StoreFailure>([
  ['57014', 'timeout'], // query_canceled: statement_timeout
  ['2203A', 'timeout'], // sql_json_member_not_found: a statement that found itself too late (server/query/in-time.ts)
  ['55P03', 'timeout'], // lock_not_available: lock_timeout
  ['25006', 'unavailable'], // read_only_sql_transaction: a primary that became a standby
  ['42501', 'unavailable'], // insufficient_privilege: a right was taken away, or never given
  ['25P03', 'unavailable'], // idle_in_transaction_session_timeout
  ['58', 'unavailable'], // a file or a device of the server failed
  ['XX001', 'unavailable'], // data_corrupted
  ['XX002', 'unavailable'], // index_corrupted
  ['08', 'unavailable'], // connection exceptions
  ['28', 'unavailable'], // the password was changed under us
  ['3D', 'unavailable'], // the database is gone
  ['40', 'unavailable'], // serialization failure, deadlock: transient, and retried by whoever may retry
  ['53', 'unavailable'], // no disk space, no memory, no connections
  ['57', 'unavailable'], // shut down, crashed, starting up
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
  'EPROTO',
]);

/** OpenSSL's codes, where an open connection does not go on in TLS. */
const TLS_CODE = /^ERR_SSL_/;

/** Messages of pg's errors that have no code. */
const DRIVER_MESSAGES =
  /Connection terminated|connection error and is not queryable|Client was closed and is not queryable|^timeout expired$|^timeout exceeded when trying to connect$|^Cannot use a pool after calling end|Connection ended|^Unable to acquire a connection$|aborted$/;

/** How the store failed; null for an error that is not a failure of the store. */
export function storeFailure(error: unknown): StoreFailure | null {
  if (error instanceof StoreError) {
    if (error.code === 'store.not_committed') return null;
    return error.code === 'store.timeout' ? 'timeout' : 'unavailable';
  }
  if (propertyOf(error, 'name') === 'KnexTimeoutError') return 'unavailable';
  const code = codeOf(error);
  if (code !== null) {
    if (NETWORK_CODES.has(code) || TLS_CODE.test(code)) return 'unavailable';
    return SQL_STATES.get(code) ?? SQL_STATES.get(code.slice(0, 2)) ?? (endsConnection(error) ? 'unavailable' : null);
  }
  return DRIVER_MESSAGES.test(reasonOf(error)) ? 'unavailable' : null;
}

/** Handles a failure of what may be left out while the store is away or takes no writes. Throws any other error. */
export function unlessStoreFails(error: unknown): void {
  if (storeFailure(error) === null) throw error;
}

/**
 * The failure for operators, in our own words, because the driver's messages quote SQL and values. A `StoreError` is
 * returned unchanged. Null if the error is not a failure of the store.
 */
export function toStoreError(error: unknown): StoreError | null {
  if (error instanceof StoreError) return error;
  const failure = storeFailure(error);
  if (failure === null) return null;
  const code = codeOf(error);
  const [storeCode, message] =
    WORDS.get(code ?? '') ?? WORDS.get(code?.slice(0, 2) ?? '') ?? (failure === 'timeout' ? TIMEOUT : FAILED);
  const state = sqlStateOf(error);
  return new StoreError(storeCode, state === null ? message : `${message} (${toldText(state, error)})`, {
    cause: error,
  });
}

/** Why something failed, for operators: without SQL, values and passwords. */
export function toldReason(error: unknown): string {
  const state = sqlStateOf(error);
  return toStoreError(error)?.message ?? (state === null ? reasonOf(error) : toldText(state, error));
}

/** The SQLSTATE, with the message of the server if it quotes no values. */
export function toldText(sqlState: string, error: unknown): string {
  return `SQLSTATE ${sqlState}${isTold(sqlState) ? `: ${serverMessage(error).slice(0, LOG_LIMITS.databaseMessage)}` : ''}`;
}

/** Without the statement and its values, which knex puts before the message: `insert into … - out of memory`. */
function serverMessage(error: unknown): string {
  const message = reasonOf(error);
  return message.slice(message.lastIndexOf(' - ') + 1).replace(/^- /, '');
}

/**
 * What to throw for `reason` if what commits was sent and failed with `error`. The reason itself, if the server says that
 * it did not do it.
 */
export function unlessRefused(error: unknown, reason: unknown): unknown {
  const state = sqlStateOf(error);
  if (state !== null && !endsConnection(error) && !LEFT_OPEN.test(state)) return reason;
  const failure = toStoreError(reason);
  if (failure === null) return reason;
  const message = `${failure.message}; nobody knows whether what was to be written is stored`;
  return new StoreError(failure.code, message, { cause: reason, isInDoubt: true });
}

/**
 * The failure of what comes after COMMIT: what was to be written is stored, but whoever asked for more than that does not
 * know. Whatever is no failure of the store is returned unchanged.
 */
export function afterCommit(error: unknown): unknown {
  const failure = toStoreError(error);
  if (failure === null) return error;
  return new StoreError(failure.code, `${failure.message}, after COMMIT`, { cause: error, isInDoubt: true });
}

/** Lost connections, statement_completion_unknown, and servers that end a connection, which they may do after COMMIT. */
const LEFT_OPEN = /^(?:08|40003|57P)/;

type CodedMessage = readonly [code: StoreErrorCode, message: string];

const TIMEOUT: CodedMessage = ['store.timeout', 'the store did not answer in time'];
const FAILED: CodedMessage = ['store.failed', 'the store failed, or the connection to it was lost'];

/** By SQLSTATE or its class. */
const WORDS: ReadonlyMap<string, CodedMessage> = new Map<string, CodedMessage>([
  ['25006', ['store.read_only', 'the store is read-only']],
  ['42501', ['store.rights', 'the database user lacks a privilege that this needs']],
  ['40', ['store.failed', 'the store aborted the transaction in favour of another one']],
  ['53100', ['store.full', 'the disk of the store is full']],
  ['53300', ['store.connections', 'the store has no connection left']],
  ['53', ['store.failed', 'the store has run out of memory or disk space']],
  ['58', ['store.failed', 'the store met an error of its system']],
]);

/** `code` of a system or database error; null if it has none. */
export function codeOf(error: unknown): string | null {
  const code = propertyOf(error, 'code');
  return typeof code === 'string' ? code : null;
}

/** The SQLSTATE of an error of the database; its message may quote SQL and values. Null for any other error. */
export function sqlStateOf(error: unknown): string | null {
  const code = codeOf(error);
  return code !== null && /^[0-9A-Z]{5}$/.test(code) && propertyOf(error, 'severity') !== undefined ? code : null;
}

/** Whether the error says that a row violates this unique constraint, whichever partition the row is of. */
export function violates(error: unknown, constraint: string): boolean {
  const violated = propertyOf(error, 'constraint');
  return (
    sqlStateOf(error) === '23505' &&
    typeof violated === 'string' &&
    (violated === constraint || violated.startsWith(`${constraint}_`))
  );
}

/** The message, or the code if the message is empty (as for a refused connection to several addresses). */
export function reasonOf(error: unknown): string {
  const message = propertyOf(error, 'message');
  if (typeof message === 'string' && message !== '') return message;
  return codeOf(error) ?? String(error);
}

/** True for an error of the server that ends the connection. */
export function endsConnection(error: unknown): boolean {
  const severity = propertyOf(error, 'severity');
  return severity === 'FATAL' || severity === 'PANIC';
}

function propertyOf(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
