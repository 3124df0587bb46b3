// Who owns the folder of an embedded store. Two engines on one folder destroy it silently, so this must hold against
// crashes, reused pids and many starters at once, with nothing but what every file system has: link() that fails where
// the name exists.
//
// The lock is a folder of numbered files. Number n+1 may be taken by whoever finds that n has been released or that its
// owner is dead; link() lets one of them through. The newest file is never removed, only superseded, so no process can
// take a number on the strength of something it saw before others came and went.
import {
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { codeOf } from '../failures.js';
import { identifyProcess, lifeOf } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';

export interface LockRecord extends ProcessIdentity {
  readonly token: string;
  /** Folder of the socket that the owner serves the store on. */
  readonly socketDir: string;
  /** The lock's own folder, by name and by inode: a lock that was copied with its folder is about another store. */
  readonly path: string;
  readonly inode: number;
}

export type LockState =
  | { readonly kind: 'held'; readonly record: LockRecord }
  | {
      readonly kind: 'free';
      /** The number to take. */ readonly next: number;
      /** Of a dead owner, to be tidied away. */ readonly socketDir: string | null;
    };

export interface HeldLock {
  readonly file: string;
  readonly token: string;
  /** Says that its owner lives, to those who cannot see the process. */
  touch(): void;
  release(): void;
}

/** Owners touch their lock this often (ms), and one that others cannot see is taken for dead after this long without. */
export const HEARTBEAT = 2_000;
export const HEARTBEAT_LOST = 30_000;

/** Whoever wrote a lock that says nothing to us. */
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
  if (newest === 0) return { kind: 'free', next: 1, socketDir: null };
  const file = join(folder, String(newest));
  const text = readText(file);
  if (text === null) return readLock(folder); // superseded and tidied away between the two looks
  if (text === RELEASED) return { kind: 'free', next: newest + 1, socketDir: null };
  const decoded = decodeRecord(text);
  // copied with its folder: whoever beats there has nothing to do with this store, and its socket is in use
  if (decoded !== null && !isAbout(decoded, folder)) return { kind: 'free', next: newest + 1, socketDir: null };
  // what cannot be read was cut short by a power failure: its heartbeat decides
  const life = decoded === null ? 'unknown' : lifeOf(decoded);
  if (life === 'dead' || (life === 'unknown' && !beats(folder, file))) {
    return { kind: 'free', next: newest + 1, socketDir: decoded?.socketDir ?? null };
  }
  return { kind: 'held', record: decoded ?? NOBODY };
}

/** Takes the number that `readLock` found free; null if another process was quicker. */
export function takeLock(folder: string, next: number, socketDir: string): HeldLock | null {
  const token = randomUUID();
  const record: LockRecord = { ...identifyProcess(), token, socketDir, path: folder, inode: statSync(folder).ino };
  const draft = join(folder, `draft-${token}`);
  const file = join(folder, String(next));
  writeFileSync(draft, JSON.stringify(record), { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return null;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  if (newestNumber(folder) !== next) {
    rmSync(file, { force: true }); // it was taken and superseded long ago, before we came to it
    return null;
  }
  tidy(folder, next);
  return {
    file,
    token,
    touch: () => {
      const now = new Date();
      try {
        utimesSync(file, now, now);
      } catch {
        return; // the lock has been taken away, which the worker finds out before it touches the store again
      }
    },
    release: () => {
      if (!ownsLock(file, token)) return;
      const released = join(folder, `draft-${token}`);
      writeFileSync(released, RELEASED, { mode: 0o600 });
      renameSync(released, file);
    },
  };
}

/** Whether the lock is still held by who took it with this token. */
export function ownsLock(file: string, token: string): boolean {
  const text = readText(file);
  return (
    text !== null &&
    decodeRecord(text)?.token === token &&
    newestNumber(join(file, '..')) === Number(file.slice(file.lastIndexOf('/') + 1))
  );
}

export function createLockFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

/** One of the two may differ: another mount of the same folder, a file system without lasting inodes. */
function isAbout(record: LockRecord, folder: string): boolean {
  return record.path === folder || record.inode === statSync(folder).ino;
}

function newestNumber(folder: string): number {
  let newest = 0;
  for (const name of readdirSync(folder)) if (DIGITS.test(name)) newest = Math.max(newest, Number(name));
  return newest;
}

/** Older locks, and drafts of processes that died while writing them. */
function tidy(folder: string, mine: number): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (DIGITS.test(name) ? Number(name) < mine : ageOf(folder, path) > HEARTBEAT_LOST) rmSync(path, { force: true });
  }
}

const beats = (folder: string, file: string): boolean => ageOf(folder, file) < HEARTBEAT_LOST;

/** Milliseconds since a file was touched, by the clock of the file system that holds it; ours may be another. */
function ageOf(folder: string, file: string): number {
  const probe = join(folder, `draft-${randomUUID()}`);
  try {
    writeFileSync(probe, '', { mode: 0o600 });
    return statSync(probe).mtimeMs - statSync(file).mtimeMs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0; // gone meanwhile: whoever did that is alive
    throw error;
  } finally {
    rmSync(probe, { force: true });
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
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
