// Takes a log of the audit folder for this process alone, with the same lock as the embedded store, so a second process
// gets a log of its own. Finds where the log ends, and cuts off a line that a crash left half written.
// An owner that was taken for dead may still write: it writes into a file that is no longer the log's.
import { open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { dirname, join } from 'node:path';
import { createLockFolder, type HeldLock, readLock, takeLock } from '../lib/owner-lock.js';
import { codeOf } from '../db/failures.js';
import { OWNER_LIMITS } from '../limits/store.js';
import { AuditError } from './audit-error.js';
import { BEGINNING, type Head, readLine } from './chain.js';
import { makeFolder, removeDrafts, syncFolder, writeWholeFile } from '../lib/whole-file.js';
import { listLogs, type LogFile } from './log-files.js';
import { isBlank } from './read-log.js';

export interface OwnedLog {
  readonly folder: string;
  readonly log: string;
  readonly head: Head;
  /** Where a half-written line was kept; null if there was none. */
  readonly torn: string | null;
  /** False if what the last owner may still write can get into the log's files: the last one could not be copied. */
  readonly isFenced: boolean;
  /** False once another process has the log. Throws `LostLog` if nobody can say whose it is. */
  readonly isOwner: () => Promise<boolean>;
  /** Resolves once another process has the log. */
  readonly taken: Promise<void>;
  readonly release: () => Promise<void>;
}

/**
 * Takes the first log of the folder that nobody holds, or makes a new one. Throws `AuditError` if the folder cannot be
 * used or the end of the log is damaged: a damaged log is never continued as if it were intact.
 */
export async function ownLog(folder: string): Promise<OwnedLog> {
  try {
    await makeFolder(folder, 0o700);
    const { log, lock } = await takeLog(folder);
    const release = async (): Promise<void> => {
      await lock.release();
    };
    try {
      await removeDrafts(folder);
      const files = (await listLogs(folder)).get(log) ?? [];
      const isOwner = (): Promise<boolean> => isOwned(lock);
      return { folder, log, ...(await findEnd(files, lock.mayLive)), isOwner, taken: lock.taken, release };
    } catch (error) {
      await release();
      throw error;
    }
  } catch (error) {
    throw folderFault(folder, error);
  }
}

/** A failure of the system as one of the folder, and any other as it is. */
export function folderFault(folder: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === null || error instanceof AuditError) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return new AuditError(isFull ? 'audit.full' : 'audit.folder', `the audit folder ${folder} cannot be used (${code})`, {
    cause: error,
  });
}

/** What this process had of the log is gone. */
export class LostLog extends Error {
  override readonly name = 'LostLog';
}

/** A lock that is out of sight, and that nobody has taken over, has gone with its folder. */
async function isOwned(lock: LogLock): Promise<boolean> {
  if (await lock.isHeld()) return true;
  if (await lock.isTaken()) return false;
  throw new LostLog('the audit folder was moved or removed, or cannot be read: the lock of the log is not in it');
}

interface TakenLog {
  readonly log: string;
  readonly lock: LogLock;
}

async function takeLog(folder: string): Promise<TakenLog> {
  const locks = (await readdir(folder)).flatMap((name) => /^([0-9a-z]{1,32})\.lock$/.exec(name)?.[1] ?? []);
  // Logs with events come first, before other names that were ever locked here.
  const known = new Set([...(await listLogs(folder)).keys(), ...locks.sort()]);
  for (const log of known) {
    const lock = lockLog(folder, log);
    if (lock !== null) return { log, lock };
  }
  const log = newName();
  const lock = lockLog(folder, log);
  if (lock === null) throw new AuditError('audit.folder', `the audit folder ${folder} cannot be locked`);
  return { log, lock };
}

export interface LogLock extends HeldLock {
  /** Whether the owner before may live nevertheless. */
  readonly mayLive: boolean;
  /** Resolves once another process has it: this one was silent for too long. */
  readonly taken: Promise<void>;
}

/** Null if a process holds it. No log has a dot in its name, so that other things of the folder are locked like one. */
export function lockLog(folder: string, log: string): LogLock | null {
  const path = join(folder, `${log}.lock`);
  createLockFolder(path);
  const state = readLock(path);
  if (state.kind === 'held') return null;
  const lock = takeLock(path, state.next, '');
  if (lock === null) return null;
  let stop = (): void => undefined;
  const taken = new Promise<void>((resolve) => {
    const beat = setInterval(() => {
      void lock.touch();
      void lock.isTaken().then((isTaken) => {
        if (isTaken) resolve();
      });
    }, OWNER_LIMITS.heartbeat).unref();
    stop = () => {
      clearInterval(beat);
    };
  });
  return {
    ...lock,
    mayLive: state.mayLive,
    taken,
    release: () => {
      stop();
      return lock.release();
    },
  };
}

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz';

/** Random, because logs of several machines may be brought together and no two must share a name. */
function newName(): string {
  return Array.from({ length: 10 }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
}

const NEWLINE = 0x0a;

type End = Pick<OwnedLog, 'head' | 'torn' | 'isFenced'>;

/** What it returns is on the disk. `mayLive`: the owner before may still write into the last file. */
async function findEnd(files: readonly LogFile[], mayLive: boolean): Promise<End> {
  let torn: string | null = null;
  for (const { path, log, first } of [...files].reverse()) {
    const bytes = await readFile(path);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    const rest = bytes.subarray(end);
    if (!isBlank(rest)) torn = await keepTorn(path, { line: rest, at: end });
    if (end === 0) {
      // The file was begun, but no event in it was finished.
      await rm(path);
      continue;
    }
    const start = bytes.lastIndexOf(NEWLINE, end - 2) + 1;
    const line = readLine(bytes.toString('utf8', start, end - 1));
    if (line === null || line.digest !== line.hash || line.log !== log || line.seq < first) {
      throw new AuditError('audit.damaged', `the last event in ${path} is damaged`);
    }
    const isFenced = !mayLive || (await isReplaced(path, bytes.subarray(0, end)));
    if (!mayLive || !isFenced) await cut(path, end);
    return { head: { seq: line.seq, hash: line.hash }, torn, isFenced };
  }
  return { head: BEGINNING, torn, isFenced: true };
}

/** A half-written line is not an acknowledged event, because those are on the disk as whole lines. It is still kept. */
async function keepTorn(path: string, { line, at }: { readonly line: Buffer; readonly at: number }): Promise<string> {
  const kept = `${path}.${String(at)}.torn`;
  await writeFile(kept, line, { mode: 0o600, flush: true });
  await syncFolder(dirname(path));
  return kept;
}

/**
 * Puts a copy in the place of the file. Whoever still has the old one open writes into a file without a name. False if
 * there can be no copy.
 */
async function isReplaced(path: string, bytes: Buffer): Promise<boolean> {
  try {
    const { mode, uid, gid } = await stat(path);
    await writeWholeFile(path, bytes, { mode: mode & 0o777, uid, gid });
    return true;
  } catch (error) {
    if (!NOT_COPIED.has(codeOf(error) ?? '')) throw error;
    return false;
  }
}

/** There is no room for it, or root may not give it to the user of the log. */
const NOT_COPIED: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EPERM', 'EINVAL']);

async function cut(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.truncate(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}
