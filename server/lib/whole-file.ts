// Files that are on the disk whole, or not at all, and the folders that they are in.
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { FILE_LIMITS } from '../limits/store.js';
import { systemCodeOf } from './small-file.js';

export interface FileAccess {
  readonly mode: number;
  /** Only root can give a file away. For others the new file is their own. */
  readonly uid?: number;
  readonly gid?: number;
  /** Called last. If it rejects, nothing is replaced. */
  readonly check?: () => Promise<void>;
}

/** Replaces what is at `path`, which is no link, with these bytes or parts. It is on the disk when this resolves. */
export async function writeWholeFile(
  path: string,
  bytes: Uint8Array | readonly Uint8Array[],
  access: number | FileAccess,
): Promise<void> {
  const { mode, uid, gid, check }: FileAccess = typeof access === 'number' ? { mode: access } : access;
  const draft = draftOf(path);
  try {
    const handle = await open(draft, 'wx', mode);
    try {
      // Widens the mode that the umask has narrowed: a file that others are to read may be read by other users.
      await handle.chmod(mode);
      if (uid !== undefined && gid !== undefined && process.getuid?.() === 0) await handle.chown(uid, gid);
      for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) await handle.writeFile(part);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await check?.();
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  await removeDrafts(dirname(path), basename(path));
}

function draftOf(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
}

const DRAFT = /^\.(.+)\.[0-9a-f]{12}\.tmp$/;

/** Removes what crashes have left of `writeWholeFile`: of this file, or in a folder of ours of all files. */
export async function removeDrafts(folder: string, name: string | null = null): Promise<void> {
  const drafts = await draftsIn(folder, name);
  const now = drafts.length === 0 ? null : await timeIn(folder, name ?? 'clock');
  for (const draft of drafts) {
    // It may be another user's, and nothing depends on it.
    if (now !== null && (await isAbandoned(draft, now))) await rm(draft, { force: true }).catch(() => undefined);
  }
}

/** Removes those of a file even if somebody is writing one, who then replaces nothing. */
export async function takeDrafts(path: string): Promise<void> {
  for (const draft of await draftsIn(dirname(path), basename(path))) await rm(draft, { force: true });
}

async function draftsIn(folder: string, name: string | null): Promise<readonly string[]> {
  return (await readdir(folder)).flatMap((found) => {
    const whose = DRAFT.exec(found)?.[1];
    return whose !== undefined && (name === null || whose === name) ? [join(folder, found)] : [];
  });
}

/** By the clock of the file system, which dates the drafts and may differ from ours. Null if it dates nothing for us. */
async function timeIn(folder: string, name: string): Promise<number | null> {
  // If a crash leaves it, it is a draft like those that are removed here.
  const path = draftOf(join(folder, name));
  try {
    const handle = await open(path, 'wx', 0o600);
    const { mtimeMs } = await handle.stat().finally(() => handle.close());
    return mtimeMs;
  } catch {
    return null;
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** Nobody can still be writing it. */
async function isAbandoned(path: string, now: number): Promise<boolean> {
  return stat(path).then(
    ({ mtimeMs }) => now - mtimeMs > FILE_LIMITS.draftAge,
    () => false,
  );
}

/**
 * Makes a folder and its parents, as far as they do not exist, on the disk. False if it was there. One by one: Node's
 * recursive `mkdir` never ends on a file system like /proc, which has no place for any.
 */
export async function makeFolder(folder: string, mode?: number): Promise<boolean> {
  const parent = dirname(resolve(folder));
  const isThere = (): Promise<boolean> =>
    stat(folder).then(
      (facts) => facts.isDirectory(),
      () => false,
    );
  const make = async (): Promise<boolean> => {
    try {
      await mkdir(folder, { mode });
    } catch (error) {
      // A disk that nobody may write to may say so even of a folder that is there.
      if (await isThere()) return false;
      throw error;
    }
    await syncFolder(parent);
    return true;
  };
  try {
    return await make();
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT' || parent === resolve(folder)) throw error;
    await makeFolder(parent, mode);
    return make();
  }
}

/** Syncing the folder puts the names of new files on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
