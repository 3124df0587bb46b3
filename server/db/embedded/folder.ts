// The folder of the embedded store: what state it is in, and making a new one so that a crash at any moment leaves either
// no store or a whole one. Only who holds the folder's lock may call this.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, reasonOf, StoreError, type StoreErrorCode } from '../failures.js';

/** Major version of the engine's files. */
const ENGINE_VERSION = '18';

/** What keeps a folder from being used, by the code of the system or, out of the engine, by its words. */
const FOLDER_FAILURES: readonly (readonly [pattern: RegExp, code: StoreErrorCode, why: string])[] = [
  [/ENOSPC|EDQUOT|No space left on device|quota exceeded/i, 'store.full', 'there is no space left on its disk'],
  [/EROFS|Read-only file system/i, 'store.folder', 'its file system is mounted read-only'],
  [/EACCES|EPERM|Permission denied|Operation not permitted/i, 'store.folder', 'this user may not read and write it'],
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
/** Stands while a store is being created: what is in the folder then is half made and holds nothing of anyone. */
const unfinishedMark = (dataDir: string): string => join(dataDir, 'store.unfinished');

/**
 * Says whether the store is to be created (`new`) or opened, and readies the folder for it.
 * Throws `store.corrupt` for a folder that has lost its beginnings (it must never be served as if it were new) and
 * `store.version` for one of another engine.
 */
export function prepareFolder(dataDir: string): 'new' | 'existing' {
  const store = storeFolder(dataDir);
  const unfinished = existsSync(unfinishedMark(dataDir));
  if (unfinished) rmSync(store, { recursive: true, force: true });
  if (!existsSync(store) || readdirSync(store).length === 0) {
    writeFileSync(unfinishedMark(dataDir), 'The store is being created. This file goes when it is.\n');
    mkdirSync(store, { recursive: true, mode: 0o700 });
    syncFolder(dataDir);
    return 'new';
  }
  checkVersion(store);
  return 'existing';
}

/** Writes all of a new store through to the disk, then removes the mark. From here on the folder is a store. */
export async function finishFolder(dataDir: string): Promise<void> {
  await syncTree(storeFolder(dataDir));
  rmSync(unfinishedMark(dataDir));
  syncFolder(dataDir);
}

function checkVersion(store: string): void {
  let version: string;
  try {
    version = readFileSync(join(store, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    throw new StoreError(
      'store.corrupt',
      `${store} is not empty and has no readable PG_VERSION: it is not a whole store`,
      { cause: error },
    );
  }
  if (!/^\d+$/.test(version)) throw new StoreError('store.corrupt', `PG_VERSION in ${store} is damaged`);
  if (version !== ENGINE_VERSION) {
    throw new StoreError(
      'store.version',
      `the store in ${store} is of PostgreSQL ${version}, this release runs ${ENGINE_VERSION}`,
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

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
