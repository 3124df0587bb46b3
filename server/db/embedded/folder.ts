// The folder of the embedded store: the state that it is in, and how a new store is made so that a crash at any moment
// leaves either no store or a whole one. Only the holder of the folder's lock may call this.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EMBEDDED_LIMITS } from '../../limits/store.js';
import { codeOf, reasonOf, StoreError, type StoreErrorCode } from '../failures.js';

/** Major version of the engine's files. */
const ENGINE_VERSION = '18';

/** Reasons why a folder cannot be used, recognized by the system's code or by the engine's words. */
const FOLDER_FAILURES: readonly (readonly [pattern: RegExp, code: StoreErrorCode, why: string])[] = [
  [/ENOSPC|EDQUOT|No space left on device|quota exceeded/i, 'store.full', 'there is no space left on its disk'],
  [/EROFS|Read-only file system/i, 'store.folder', 'its file system is mounted read-only'],
  [/EACCES|EPERM|Permission denied|Operation not permitted/i, 'store.folder', 'this user may not read and write it'],
  [/EEXIST|ENOTDIR/, 'store.folder', 'it is a file, or below one'],
];

/** What a failure of the file system means for the folder; null for any other failure. */
export function folderFailure(error: unknown, dataDir: string): StoreError | null {
  const said = `${codeOf(error) ?? ''} ${reasonOf(error)}`;
  const found = FOLDER_FAILURES.find(([pattern]) => pattern.test(said));
  if (found === undefined) return null;
  const [, code, why] = found;
  return new StoreError(code, `the data folder ${dataDir} cannot be used: ${why}`, { cause: error });
}

export const storeFolder = (dataDir: string): string => join(dataDir, 'store');
/**
 * A new store is made in a folder of its own in here, by a process that may outlive the one that started it. Whatever
 * is left in it belongs to nobody.
 */
const unfinishedFolder = (dataDir: string): string => join(dataDir, 'store.unfinished');

/**
 * Says whether the store is to be created (`new`) or opened.
 * Throws `store.corrupt` for a folder that has lost its beginnings (it must never be served as if it were new) and
 * `store.version` for one of another engine.
 */
export function prepareFolder(dataDir: string): 'new' | 'existing' {
  const store = storeFolder(dataDir);
  dropUnfinished(dataDir);
  if (!existsSync(store) || readdirSync(store).length === 0) return 'new';
  checkVersion(store);
  return 'existing';
}

/**
 * Why no store could be made. An engine that runs out of disk space while it makes a database ends without saying so,
 * so this asks the file system.
 */
export function creationFailure(error: unknown, dataDir: string): StoreError {
  const { bavail, bsize } = statfsSync(dataDir);
  if (bavail * bsize < EMBEDDED_LIMITS.newStoreBytes) {
    const needed = String(EMBEDDED_LIMITS.newStoreBytes / 1024 / 1024);
    const why = `a new store needs ${needed} MiB, and its disk has less`;
    return new StoreError('store.full', `the data folder ${dataDir} cannot be used: ${why}`, { cause: error });
  }
  return new StoreError('store.start', `the store cannot be created: ${reasonOf(error)}`, { cause: error });
}

/**
 * Makes a new store, syncs it to the disk, and moves it to its place. `guard` ends a process that is no longer the
 * owner by then, because the new owner has removed the draft. Rejects with the error output of the process that made
 * the store.
 */
export async function createStore(dataDir: string, guard: () => void): Promise<void> {
  const draft = join(unfinishedFolder(dataDir), randomBytes(6).toString('hex'));
  try {
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    await makeDatabase(draft);
    await syncTree(draft);
    guard();
    renameSync(draft, storeFolder(dataDir));
  } finally {
    dropUnfinished(dataDir);
  }
  syncFolder(dataDir);
}

/** A process that still writes there may prevent parts from being removed. The next start tries again. */
function dropUnfinished(dataDir: string): void {
  try {
    rmSync(unfinishedFolder(dataDir), { recursive: true, force: true });
  } catch (error) {
    if (codeOf(error) !== 'ENOTEMPTY') throw error;
  }
}

/**
 * A program that runs once is not worth optimizing: the engine's code takes less memory and time in its first compiled
 * form.
 */
const SMALL = ['--liftoff-only', '--wasm-num-compilation-tasks=1', '--max-semi-space-size=1'];

function makeDatabase(folder: string): Promise<void> {
  const program = fileURLToPath(new URL('./create-store.js', import.meta.url));
  return new Promise((resolve, reject) => {
    const maker = spawn(process.execPath, [...SMALL, program, folder], { stdio: ['ignore', 'ignore', 'pipe'] });
    const kill = (): void => void maker.kill('SIGKILL');
    process.once('exit', kill);
    const said: Buffer[] = [];
    maker.stderr.on('data', (bytes: Buffer) => said.push(bytes));
    maker.once('error', reject);
    maker.once('close', (status, signal) => {
      process.off('exit', kill);
      const words = Buffer.concat(said).toString('utf8').trim();
      if (status === 0) resolve();
      else reject(new Error(words === '' ? `its maker was ended by ${signal ?? `status ${String(status)}`}` : words));
    });
  });
}

function checkVersion(store: string): void {
  let version: string;
  try {
    version = readFileSync(join(store, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    throw new StoreError(
      'store.corrupt',
      `${store} is not empty and has no readable PG_VERSION: it is not a complete store`,
      { cause: error },
    );
  }
  if (!/^\d+$/.test(version)) throw new StoreError('store.corrupt', `PG_VERSION in ${store} is damaged`);
  if (version !== ENGINE_VERSION) {
    throw new StoreError(
      'store.version',
      `the store in ${store} belongs to PostgreSQL ${version}; this release runs ${ENGINE_VERSION}`,
    );
  }
}

async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await syncTree(path);
      else if (entry.isFile()) await syncFile(path);
    }),
  );
  await syncFile(folder);
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
