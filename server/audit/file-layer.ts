// What the log needs from the file system, and no more, so that tests can fill the disk or fail an fsync exactly where
// the writer uses them.
import { constants } from 'node:fs';
import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from '../lib/whole-file.js';

export interface AppendFile {
  /** Appends. May write fewer bytes than given, for example on a full disk. */
  readonly append: (bytes: Uint8Array) => Promise<number>;
  /** Syncs the file to the disk. */
  readonly sync: () => Promise<void>;
  readonly truncate: (length: number) => Promise<void>;
  /** Whether its path still leads to this file. Somebody may have moved or removed it. */
  readonly isInPlace: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

export interface FileLayer {
  /** Creates a file and syncs its name to the disk. Rejects if the file exists. */
  readonly create: (path: string) => Promise<AppendFile>;
  /** Opens an existing file. */
  readonly open: (path: string) => Promise<AppendFile>;
  /** Removes a file if it exists. */
  readonly remove: (path: string) => Promise<void>;
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;

export const systemFiles: FileLayer = Object.freeze({
  create: async (path: string) => {
    const handle = await open(path, APPEND | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      await syncFolder(dirname(path));
    } catch (error) {
      await handle.close();
      throw error;
    }
    return appendFile(handle, path);
  },
  open: async (path: string) => appendFile(await open(path, APPEND), path),
  remove: (path: string) => rm(path, { force: true }),
});

function appendFile(handle: FileHandle, path: string): AppendFile {
  return {
    append: async (bytes) => (await handle.write(bytes)).bytesWritten,
    sync: () => handle.datasync(),
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
