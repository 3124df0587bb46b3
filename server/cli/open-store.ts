// Opens the store for commands. Failures are reported with an exit status, and the schema is brought up to date if that
// is ours to do.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, storeOf } from '../config/index.js';
import type { Database, OnWait } from '../db/database.js';
import { andClose, closeAfter } from '../lib/close-after.js';
import type { Logger } from '../lib/ports.js';
import { LOAD_LIMITS } from '../limits/records.js';
import { CliFailure, EXIT, type ExitStatus } from './exit.js';
import { type CliIo, write } from './io.js';
import { escapeText } from './render/escape.js';

export interface OpenStoreOptions {
  /** If set, a statement may take very long: no client waits for it. An external server has limits of its own. */
  readonly isBulk?: true;
  /** If set, a gateway is to serve it, so its user must have all rights that requests need. */
  readonly isServed?: true;
  /** If set, no store is created or brought up to date. */
  readonly asItIs?: true;
  /** Defaults to a line on stderr. */
  readonly onWait?: OnWait;
}

/**
 * Opens the store that the configuration names, at this version's schema: the embedded one is migrated, an external one
 * belongs to its operator and is refused until `bailiwick migrate` was run. A wait for the process that holds the store
 * is announced on stderr. Throws `CliFailure` (2, 6, 8 or 10).
 */
export async function openStore(
  io: CliIo,
  config: Config,
  { asItIs, isBulk, isServed, onWait = sayWait(io) }: OpenStoreOptions = {},
): Promise<Database> {
  const store = storeOf(config);
  if (asItIs === true && store.kind === 'embedded' && !hasStore(store)) throw noStore(store);
  const [{ openDatabase }, { migrate, pendingMigrations }, { assertRights }] = await Promise.all([
    import('../db/database.js'),
    import('../db/migrate.js'),
    import('../db/rights.js'),
  ]);
  const limit = { statementTimeout: store.kind === 'embedded' ? LOAD_LIMITS.statementTime : 0 };
  const limits = { ...config.database, ...(isBulk === true && limit) };
  const db = await told(openDatabase({ ...store, ...limits, onWait }));
  try {
    const assertServable = (): Promise<void> => (isServed === true ? told(assertRights(db)) : Promise.resolve());
    const pending = await told(pendingMigrations(db)).catch(async (error: unknown) => {
      if (error instanceof CliFailure && error.code === 'store.rights') await assertServable();
      throw error;
    });
    if (pending.length > 0 && (db.kind === 'external' || asItIs === true)) throw migrationsPending(pending);
    if (pending.length > 0) await told(migrate(db));
    // Not before migrations: nobody can be given rights to a table that they make.
    await assertServable();
    return db;
  } catch (error) {
    return closeAfter(error, () => db.close());
  }
}

/**
 * The same for verbs other than those that run a gateway. It says on stderr which store that is, and chooses none by
 * default where a gateway is configured: a gateway gets its store from elsewhere there, and a new one beside it would
 * look like an empty one. Throws `CliFailure` (2, 6, 8 or 10).
 */
export async function openNamedStore(io: CliIo, config: Config, options: OpenStoreOptions = {}): Promise<Database> {
  const store = storeOf(config);
  if (store.kind === 'embedded') {
    const { checkDisk } = await import('../db/embedded/check-disk.js');
    await told(checkDisk(store.dataDir));
  }
  const say = announceStore(io, config);
  const db = await openStore(io, config, options);
  await say();
  return db;
}

/** Uses the store that `openNamedStore` opens, and closes it. */
export async function withNamedStore<T>(
  io: CliIo,
  { config, ...options }: OpenStoreOptions & { readonly config: Config },
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openNamedStore(io, config, options);
  return andClose(
    () => use(db),
    () => db.close(),
  );
}

/**
 * A gateway may make its store, but not beside a socket or an audit log with a place of its own: those are for a
 * gateway without a data folder. Throws `CliFailure` 2.
 */
export function requireStoreOfGateway(config: Config): void {
  const { adminSocket, audit } = config;
  if ((adminSocket ?? 'none') !== 'none' || audit.folder !== null) requireNamedStore(config);
}

function requireNamedStore(config: Config): void {
  if (config.storeNamedBy === null && config.otherSetting !== null) {
    const { key, place } = config.otherSetting;
    const message = `settings of a gateway are given (\`${key}\` by ${place}), and none of them names its store`;
    throw new CliFailure(EXIT.usage, 'store.not_named', message, {
      help: 'give the store that the gateway uses: `dataDir`, `databaseUrl` or `databaseUrlFile` in the settings file, DATABASE_URL or DATABASE_URL_FILE, or `--data-dir`',
    });
  }
}

/**
 * Throws `CliFailure` 2 if nothing names the store of a gateway. Call it before the store is opened, and what it
 * returns after that.
 */
export function announceStore(io: CliIo, config: Config): () => Promise<void> {
  requireNamedStore(config);
  const store = storeOf(config);
  if (store.kind === 'external') {
    return async () => {
      const { placeOfUrl } = await import('../db/external.js');
      await write(io.stderr, `store: PostgreSQL at ${escapeText(placeOfUrl(store.url))}\n`);
    };
  }
  const made = hasStore(store) ? '' : ' (made by this command)';
  return () => write(io.stderr, `store: embedded, in ${escapeText(store.dataDir)}${made}\n`);
}

function hasStore({ dataDir }: { readonly dataDir: string }): boolean {
  return existsSync(join(dataDir, 'store'));
}

export interface Waiting {
  readonly log: Logger;
  /** Resolves when the process is told to end. */
  readonly ended: Promise<unknown>;
  /** Answers probes from now on, with why the store is away; resolves to what ends that. */
  readonly answerProbes: (reason: () => string) => Promise<() => Promise<void>>;
  /** Milliseconds after which a start that still waits says so again. Defaults to a minute. */
  readonly reminder?: number;
}

/** What was waited for, and whether it was away at first. */
export interface ReachedStore {
  readonly db: Database;
  readonly isLate: boolean;
}

/**
 * Like `openStore`, but waits for a store that is away. Says why in the log, again when that changes, and from time to
 * time: a pooler calls a mistake that somebody must mend the same as what passes. Null if the process is told to end
 * meanwhile.
 */
export async function awaitStore(io: CliIo, config: Config, waiting: Waiting): Promise<ReachedStore | null> {
  const { log, ended, answerProbes, reminder = REMINDER } = waiting;
  const isOver = ended.then(() => true);
  let endProbes: (() => Promise<void>) | null = null;
  let told = { reason: '', at: 0 };
  try {
    for (let since: number | null = null; ; since ??= performance.now()) {
      try {
        const db = await openStore(io, config, { onWait: sayInLog(log), isServed: true });
        const seconds = since === null ? null : Math.round((performance.now() - since) / 100) / 10;
        if (seconds !== null) log.info({ seconds }, 'the store can be reached');
        return { db, isLate: since !== null };
      } catch (error) {
        if (!(error instanceof CliFailure) || error.status !== EXIT.away) throw error;
        // A new process mends that, and waiting does not.
        if (error.code === 'store.replaced') throw error;
        const { code, message: reason } = error;
        const now = performance.now();
        if (reason !== told.reason || now - told.at >= reminder) {
          log.warn({ code, reason }, 'the store cannot be reached yet: waiting for it');
          told = { reason, at: now };
        }
        endProbes ??= await answerProbes(() => told.reason);
      }
      if (await Promise.race([isOver, sleep(WAIT, false, { ref: true })])) return null;
    }
  } finally {
    await endProbes?.();
  }
}

/** Milliseconds between two attempts. */
const WAIT = 1_000;

const REMINDER = 60_000;

/** Says what it waits for, so that a waiting start is not mistaken for one that hangs. */
export function sayWait(io: CliIo): OnWait {
  return (message) => void write(io.stderr, `${escapeText(message)}\n`);
}

/** The same as a line of the log of a gateway. */
export function sayInLog(log: Logger): OnWait {
  return (message) => {
    log.warn({}, message);
  };
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
  const status = statusOfStore(failure.code);
  // A failure with help of its own happened at the start.
  const after = next ?? (failure === error ? null : 'run the command again');
  const isToRepeat = status === EXIT.precondition || status === EXIT.away;
  const help = after === null || !isToRepeat ? failure.help : `${failure.help}; then ${after}`;
  return new CliFailure(status, failure.code, failure.message, { help, cause: error });
}

/** How a command ends that failed with this code, of the store or of what a store is needed for. */
export function statusOfStore(code: string): ExitStatus {
  return STATUSES.get(code) ?? EXIT.precondition;
}

/**
 * The same of a gateway. A store that takes no writes may be a primary that has become a standby: a gateway that is
 * started again finds the new one, or room on the disk of the store. For a person's command it is something to mend first.
 */
export function statusOfGateway(code: string): ExitStatus {
  return code === 'store.read_only' || code === 'store.full' ? EXIT.away : statusOfStore(code);
}

/** What mends itself, so that a supervisor may try again. */
const TRANSIENT = ['unreachable', 'connections', 'busy', 'timeout', 'silent', 'failed', 'locked', 'replaced'].map(
  (name) => `store.${name}`,
);

const STATUSES: ReadonlyMap<string, ExitStatus> = new Map<string, ExitStatus>([
  ['store.url', EXIT.usage],
  ['store.corrupt', EXIT.integrity],
  ...TRANSIENT.map((code) => [code, EXIT.away] as const),
  ['store.not_committed', EXIT.unexpected],
]);

function noStore({ dataDir }: { readonly dataDir: string }): CliFailure {
  return new CliFailure(EXIT.precondition, 'store.absent', `there is no store in \`${dataDir}\``, {
    help: 'name the store with `--data-dir` or `--database-url`; `bailiwick load` creates one',
  });
}

function migrationsPending(pending: readonly string[]): CliFailure {
  const message = `the store's schema is older than this version: ${String(pending.length)} migration${pending.length === 1 ? '' : 's'} pending`;
  return new CliFailure(EXIT.precondition, 'store.migrations_pending', message, {
    help: 'run `bailiwick migrate`',
    report: { pending },
  });
}
