// What can be wrong with the store as a whole, each with a stable code and what to do about it. Shown to operators on
// the command line and in the log, never to clients: those get the problems of `http/store-problem.ts`.

const ADVICE = {
  'store.url': 'give DATABASE_URL as postgres://user:password@host:5432/database',
  'store.unreachable': 'check that PostgreSQL runs there and that host, port and network are right',
  'store.refused': 'check user, password, database name and pg_hba.conf',
  'store.tls':
    'give sslmode (disable, require, verify-full, …) and, for a certificate of your own authority, sslrootcert=<file> in DATABASE_URL',
  'store.full': 'free space on its disk; the gateway goes on by itself',
  'store.locked': 'stop the process that uses the folder, or give this one a folder of its own with --data-dir',
  'store.folder': 'give a folder that this user may read and write with --data-dir',
  'store.socket': 'set TMPDIR to a short path on a local disk that this user may write',
  'store.unsupported': 'give an external PostgreSQL with DATABASE_URL',
  'store.version': 'open the store with the release that wrote it, or load the data into a new one',
  'store.corrupt': 'restore the folder from a backup, or move it away and load the data into a new one',
  'store.start': 'see the reason; free memory or disk space, then start again',
  'store.foreign': 'rename or move what is there, or give a database of its own',
  'store.busy': 'wait, or send less at once',
  'store.timeout': 'ask for less at once',
  'store.failed': 'see that the store runs and what its log says',
  'store.read_only': 'let the server and the user of DATABASE_URL write, or name the primary',
  'store.rights':
    'let the user of DATABASE_URL create the schema `bailiwick` or own it with its tables, or name one that does',
  'store.closed': 'open the store again',
  'store.not_committed': 'this is a fault of ours: a statement failed inside a transaction that was then committed',
} as const;

export type StoreErrorCode = keyof typeof ADVICE;

/** The message says what is wrong, `help` what to do. Neither ever holds a password or a value of a record. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  readonly help: string;

  constructor(code: StoreErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.help = ADVICE[code];
  }
}
