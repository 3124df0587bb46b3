// Opens the store for commands. Failures are reported with an exit status, and the schema is brought up to date if that
// is ours to do.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, storeOf } from '../config/index.js';
import type { Database, OnWait } from '../db/database.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, write } from './io.js';
import { escapeText } from './render/escape.js';

export interface OpenStoreOptions {
  /** Milliseconds that a statement may take; 0 is no limit. Defaults to the store's own limit. */
  readonly statementTimeout?: number;
  /** If set, no store is created or brought up to date. */
  readonly asItIs?: true;
}

/**
 * Opens the store that the configuration names, at this version's schema: the embedded one is migrated, an external one
 * belongs to its operator and is refused until `bailiwick migrate` was run. A wait for the process that holds the store
 * is announced on stderr. Throws `CliFailure` (2, 6 or 8).
 */
export async function openStore(
  io: CliIo,
  config: Config,
  { asItIs, ...options }: OpenStoreOptions = {},
): Promise<Database> {
  const store = storeOf(config);
  if (asItIs === true && store.kind === 'embedded' && !existsSync(join(store.dataDir, 'store'))) throw noStore(store);
  const [{ openDatabase }, { migrate, pendingMigrations }] = await Promise.all([
    import('../db/database.js'),
    import('../db/migrate.js'),
  ]);
  const db = await told(openDatabase({ ...store, ...config.database, ...options, onWait: sayWait(io) }));
  try {
    const pending = await told(pendingMigrations(db));
    if (pending.length > 0 && (db.kind === 'external' || asItIs === true)) throw migrationsPending(pending);
    if (pending.length > 0) await told(migrate(db));
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Says what it waits for, so that a waiting start is not mistaken for one that hangs. */
export function sayWait(io: CliIo): OnWait {
  return (message) => void write(io.stderr, `${escapeText(message)}\n`);
}

/** The promise, with a failure of the store turned into one of the command. */
async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw await storeFailure(error);
  }
}

/**
 * A failure of the store as shown on the command line. Returns anything else unchanged. `next` is what to do once the
 * cause is fixed.
 */
export async function storeFailure(error: unknown, next: string | null = null): Promise<unknown> {
  // A file that cannot be read fails with codes that connections use, too.
  if (error instanceof Error && 'path' in error) return error;
  const { toStoreError } = await import('../db/failures.js');
  const failure = toStoreError(error);
  if (failure === null) return error;
  const status = STATUSES.get(failure.code) ?? EXIT.precondition;
  // A failure with help of its own happened at the start.
  const after = next ?? (failure === error ? null : 'run the command again');
  const help = after === null || status !== EXIT.precondition ? failure.help : `${failure.help}; then ${after}`;
  return new CliFailure(status, { code: failure.code, message: failure.message }, { help, cause: error });
}

const STATUSES: ReadonlyMap<string, ExitStatus> = new Map<string, ExitStatus>([
  ['store.url', EXIT.usage],
  ['store.corrupt', EXIT.integrity],
  ['store.not_committed', EXIT.unexpected],
]);

function noStore({ dataDir }: { readonly dataDir: string }): CliFailure {
  return new CliFailure(
    EXIT.precondition,
    { code: 'store.absent', message: `there is no store in \`${dataDir}\`` },
    {
      help: 'name the store with `--data-dir` or `--database-url`; `bailiwick load` creates one',
    },
  );
}

function migrationsPending(pending: readonly string[]): CliFailure {
  const message = `the store's schema is older than this version: ${String(pending.length)} migration${pending.length === 1 ? '' : 's'} pending`;
  return new CliFailure(
    EXIT.precondition,
    { code: 'store.migrations_pending', message },
    { help: 'run `bailiwick migrate`', report: { pending } },
  );
}
