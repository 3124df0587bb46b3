// Files that are on the disk whole, or not at all.
import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface FileAccess {
  readonly mode: number;
  /** Only root can give a file away. For others the new file is their own. */
  readonly uid?: number;
  readonly gid?: number;
}

/** Replaces what is at `path`, which is no link, with these bytes or parts. It is on the disk when this resolves. */
export async function writeWholeFile(
  path: string,
  bytes: Uint8Array | readonly Uint8Array[],
  access: number | FileAccess,
): Promise<void> {
  const { mode, uid, gid } = typeof access === 'number' ? { mode: access } : access;
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`);
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
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
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
