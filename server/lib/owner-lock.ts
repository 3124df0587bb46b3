// Who owns the folder of an embedded store. Two engines on one folder destroy it silently, so this must hold against
// crashes, reused pids and many processes that start at once. It relies only on what every file system has: link()
// fails if the name exists.
//
// The lock is a folder of numbered files. A process may take number n+1 if it finds that n has been released or that
// n's owner is dead; link() lets only one of them through. The newest file is never removed, only superseded, so no
// process can take a number because of something that it saw before others came and went.
//
// Whatever is done while the lock is held is asynchronous: a disk that does not answer must not stop everything else.
import {
  closeSync,
  existsSync,
  fchownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { access, open, readdir, readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { systemCodeOf } from './small-file.js';
import { OWNER_LIMITS } from '../limits/store.js';
import { identifyProcess, lifeOf, type ProcessIdentity } from './process-identity.js';

export interface LockRecord extends ProcessIdentity {
  readonly token: string;
  /** The folder of the socket on which the owner serves the store. */
  readonly socketDir: string;
  /** The lock's own folder, by name and by inode. A lock that was copied with its folder is about another store. */
  readonly path: string;
  readonly inode: number;
}

export type LockState =
  | { readonly kind: 'held'; readonly record: LockRecord }
  | {
      readonly kind: 'free';
      /** The number that can be taken. */ readonly next: number;
      /** The socket folder of a dead owner, to be removed. */ readonly socketDir: string | null;
      /** Whether the last owner may live nevertheless: its process cannot be seen, and it was only silent for long. */
      readonly mayLive: boolean;
    };

export interface HeldLock {
  readonly file: string;
  readonly token: string;
  /**
   * Tells processes that cannot see the owner's process that it lives. While the disk has not taken one touch, there is
   * no other: an owner that is silent for too long has lost the lock, and `isHeld` says so. Never rejects.
   */
  readonly touch: () => Promise<void>;
  /** Whether nobody has taken the lock over. */
  readonly isHeld: () => Promise<boolean>;
  /** Whether somebody has. Of a folder that cannot be read nobody knows. */
  readonly isTaken: () => Promise<boolean>;
  /** Releases the folder. False if the release could not be written now and must be repeated. Never rejects. */
  readonly release: () => Promise<boolean>;
}

/** The unknown writer of a lock that cannot be read. */
const NOBODY: LockRecord = {
  pid: 0,
  born: '',
  space: '',
  host: 'an unknown host',
  token: '',
  socketDir: '',
  path: '',
  inode: 0,
};

const RELEASED = 'released\n';
const FIELDS = [
  'pid',
  'born',
  'space',
  'host',
  'token',
  'socketDir',
  'path',
  'inode',
] as const satisfies readonly (keyof LockRecord)[];
const DIGITS = /^\d{1,15}$/;

export function readLock(folder: string): LockState {
  const newest = newestNumber(folder);
  if (newest === 0) return { kind: 'free', next: 1, socketDir: null, mayLive: false };
  const file = join(folder, String(newest));
  const text = readText(file);
  if (text === null) return readLock(folder); // superseded and tidied away between the two looks
  // A reader may come between the two steps of overwriting.
  const free = { kind: 'free', next: newest + 1, socketDir: null, mayLive: false } as const;
  if (text.startsWith(RELEASED)) return free;
  const decoded = decodeRecord(text);
  // The lock was copied with its folder. Whoever keeps it alive has nothing to do with this store, and its socket is in
  // use.
  if (decoded !== null && !isAbout(decoded, folder)) return free;
  // A record that cannot be read was cut short by a power failure, so its heartbeat decides.
  const life = decoded === null ? 'unknown' : lifeOf(decoded);
  if (life === 'dead' || (life === 'unknown' && !beats(folder, file))) {
    return { ...free, socketDir: decoded?.socketDir ?? null, mayLive: life === 'unknown' };
  }
  return { kind: 'held', record: decoded ?? NOBODY };
}

/** Takes the number that `readLock` found free; null if another process was faster. */
export function takeLock(folder: string, next: number, socketDir: string): HeldLock | null {
  const token = randomUUID();
  const record: LockRecord = { ...identifyProcess(), token, socketDir, path: folder, inode: statSync(folder).ino };
  const draft = join(folder, `draft-${token}`);
  const file = join(folder, String(next));
  const text = JSON.stringify(record);
  try {
    writeOwned(draft, text);
    linkSync(draft, file);
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return null;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  if (newestNumber(folder) !== next) {
    rmSync(file, { force: true }); // it was taken and superseded long ago, before we came to it
    return null;
  }
  tidy(folder, next);
  let touching: Promise<void> | null = null;
  let isLeaving = false;
  return {
    file,
    token,
    touch: () => {
      if (isLeaving) return Promise.resolve();
      // Writes the file so that the file system dates it: its clock may differ from ours, and ages are measured by it.
      touching ??= overwrite(file, text).then(() => {
        touching = null;
      });
      return touching;
    },
    isHeld: async () => (await exists(file)) && !(await exists(fileAfter(file))),
    isTaken: () =>
      readdir(folder).then(
        (names) => newestOf(names) > next,
        () => false,
      ),
    release: async () => {
      isLeaving = true;
      await touching; // or it would overwrite the release
      return !(await ownsLock(file, token)) || overwrite(file, RELEASED);
    },
  };
}

/** Overwrites in place, which needs no space on a full disk. False if it fails. */
async function overwrite(file: string, text: string): Promise<boolean> {
  try {
    const handle = await open(file, 'r+');
    try {
      await handle.write(text, 0);
      await handle.truncate(Buffer.byteLength(text));
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    return systemCodeOf(error) === 'ENOENT'; // taken over, which the worker finds out before it touches the store again
  }
}

/**
 * `isHeld` for the thread of a store, before each use: nobody has taken the number after ours, or removed ours. It
 * depends on no clock. However long the machine was paused, and whatever its clocks say, the next use finds out.
 */
export function stillOwns(file: string): boolean {
  return existsSync(file) && !existsSync(fileAfter(file));
}

function fileAfter(file: string): string {
  const at = file.lastIndexOf('/') + 1;
  return `${file.slice(0, at)}${String(Number(file.slice(at)) + 1)}`;
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Whether the process that took the lock with this token still holds it. */
export async function ownsLock(file: string, token: string): Promise<boolean> {
  try {
    if (decodeRecord(await readFile(file, 'utf8'))?.token !== token) return false;
    return newestOf(await readdir(join(file, '..'))) === Number(file.slice(file.lastIndexOf('/') + 1));
  } catch (error) {
    return systemCodeOf(error) !== 'ENOENT'; // who cannot read it cannot know
  }
}

export function createLockFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 }); // by itself: with its parents, a read-only file system is told as a folder that is missing
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  }
  // What root has made belongs to the user of its folder, who would otherwise be kept out for ever. What another user has
  // made stays theirs: they may hold it, in a folder that root shares with them. What a link leads to is nothing of ours.
  if (!isRoot() || lstatSync(folder).uid !== 0) return;
  const { uid, gid } = statSync(dirname(folder));
  if (uid !== 0)
    giveAway(() => {
      lchownSync(folder, uid, gid);
    });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** A container may keep root from it, or have no such user. Then root has the lock, as it would without. */
function giveAway(change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!NOT_GIVEN.has(systemCodeOf(error))) throw error;
  }
}

const NOT_GIVEN: ReadonlySet<string> = new Set(['EPERM', 'EINVAL']);

/** It belongs to the user of its folder, though root writes it. */
function writeOwned(path: string, text: string): void {
  const { uid, gid } = statSync(dirname(path));
  const file = openSync(path, 'wx', 0o600);
  try {
    if (isRoot() && uid !== 0)
      giveAway(() => {
        fchownSync(file, uid, gid);
      });
    writeFileSync(file, text);
  } finally {
    closeSync(file);
  }
}

/** Either may differ: another mount of the same folder, or a file system without lasting inodes. */
function isAbout(record: LockRecord, folder: string): boolean {
  return record.path === folder || record.inode === statSync(folder).ino;
}

function newestNumber(folder: string): number {
  return newestOf(readdirSync(folder));
}

function newestOf(names: readonly string[]): number {
  let newest = 0;
  for (const name of names) if (DIGITS.test(name)) newest = Math.max(newest, Number(name));
  return newest;
}

/**
 * Removes older locks, the oldest first, so that none of them is ever without its successor. Also removes drafts of
 * processes that died while writing.
 */
function tidy(folder: string, mine: number): void {
  const names = readdirSync(folder);
  const numbers = names.filter((name) => DIGITS.test(name)).map(Number);
  const older = numbers.filter((number) => number < mine).sort((one, other) => one - other);
  const drafts = names.filter(
    (name) => !DIGITS.test(name) && ageOf(folder, join(folder, name)) > OWNER_LIMITS.heartbeatLost,
  );
  for (const name of [...older, ...drafts]) rmSync(join(folder, String(name)), { force: true });
}

const beats = (folder: string, file: string): boolean => ageOf(folder, file) < OWNER_LIMITS.heartbeatLost;

/** Milliseconds since a file was touched, by the clock of the file system that holds it, which may differ from ours. */
function ageOf(folder: string, file: string): number {
  const probe = join(folder, `draft-${randomUUID()}`);
  try {
    writeFileSync(probe, '', { mode: 0o600 });
    const [now, touched] = [statSync(probe).mtimeMs, statSync(file).mtimeMs];
    if (touched <= now) return now - touched;
    // The clock went back. Its age counts from here, or a dead owner would keep it for as long as the clock went back.
    utimesSync(file, now / 1000, now / 1000);
    return 0;
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return 0; // gone meanwhile: whoever did that is alive
    throw error;
  } finally {
    rmSync(probe, { force: true });
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function decodeRecord(text: string): LockRecord | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const fields = value;
  const [pid, born, space, host, token, socketDir, path, inode] = FIELDS.map((name): unknown =>
    Reflect.get(fields, name),
  );
  if (typeof pid !== 'number' || typeof born !== 'string' || typeof space !== 'string') return null;
  if (typeof host !== 'string' || typeof token !== 'string' || typeof socketDir !== 'string') return null;
  if (typeof path !== 'string' || typeof inode !== 'number') return null;
  return { pid, born, space, host, token, socketDir, path, inode };
}
