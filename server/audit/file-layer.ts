// What the log needs from the file system, and no more, so that tests can fill the disk or fail an fsync exactly where
// the writer uses them.
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../lib/whole-file.js';

export interface AppendFile {
  /** Appends. May write fewer bytes than given, for example on a full disk. */
  readonly append: (bytes: Uint8Array) => Promise<number>;
  /** Syncs the file to the disk, with its name if it is new. */
  readonly sync: () => Promise<void>;
  readonly truncate: (length: number) => Promise<void>;
  /** Whether its path still leads to this file. Somebody may have moved or removed it. */
  readonly isInPlace: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export interface FileLayer {
  /** Rejects with EEXIST if there is such a file. */
  readonly create: (path: string) => Promise<AppendFile>;
  /** Whether there is a file with so many bytes, of which these are the last. */
  readonly isLike: (path: string, like: { readonly bytes: number; readonly end: Uint8Array }) => Promise<boolean>;
  /** Renames a file that is in the way. */
  readonly setAside: (path: string) => Promise<void>;
}

const NEW = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_CREAT | constants.O_EXCL;

export const systemFiles: FileLayer = Object.freeze({
  create: async (path: string) => newFile(await open(path, NEW, 0o600), path),
  isLike: async (path: string, { bytes, end }: { readonly bytes: number; readonly end: Uint8Array }) => {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { size } = await handle.stat();
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(end.length), 0, end.length, bytes - end.length);
      return size === bytes && buffer.subarray(0, bytesRead).equals(end);
    } finally {
      await handle.close();
    }
  },
  setAside: (path: string) => rename(path, `${path}.${randomBytes(4).toString('hex')}.late`),
});

function newFile(handle: FileHandle, path: string): AppendFile {
  let isNamed = false;
  return {
    append: async (bytes) => (await handle.write(bytes)).bytesWritten,
    sync: async () => {
      await handle.datasync();
      if (!isNamed) await syncFolder(dirname(path));
      isNamed = true;
    },
    truncate: (length) => handle.truncate(length),
    isInPlace: async () => {
      try {
        // One after the other: a disk that does not answer takes a thread for each, and there are few.
        const held = await handle.stat();
        const there = await stat(path);
        return held.ino === there.ino && held.dev === there.dev;
      } catch {
        return false;
      }
    },
    close: () => handle.close(),
  };
}
