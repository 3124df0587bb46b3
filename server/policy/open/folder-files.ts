// Where the files of a policy folder are: on a disk, or in a tree of git (history/tree-files.ts). What is in them, and which of
// them are policy, others know.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, stat } from 'node:fs/promises';
import { ENGINE_LIMITS } from '../../../engine/compiler.js';
import { answered, NoAnswer } from '../../lib/stuck-disk.js';
import { SOURCE_LIMITS } from '../../limits/policy.js';

export type EntryKind = 'file' | 'folder' | 'other';

/** Paths are absolute. Everything rejects with what the system says. */
export interface FolderFiles {
  readonly namesIn: (folder: string) => Promise<readonly Buffer[]>;
  /** Follows links. */
  readonly kindOf: (path: string) => Promise<EntryKind>;
  /** A link is something else. */
  readonly ownKindOf: (path: string) => Promise<EntryKind>;
  readonly realPathOf: (path: string) => Promise<string>;
  /** All bytes, up to as many as a policy file may have. A file that is not a regular one is special. */
  readonly read: (path: string, to: Links) => Promise<Uint8Array | 'special' | 'too_large'>;
}

interface Links {
  readonly links: 'followed' | 'refused';
}

export const DISK: FolderFiles = Object.freeze({
  namesIn: (folder: string) => readdir(folder, { encoding: 'buffer' }),
  kindOf: async (path: string) => kindOf(await stat(path)),
  ownKindOf: async (path: string) => kindOf(await lstat(path)),
  realPathOf: (path: string) => realpath(path),
  read: (path: string, to: Links) => readFromDisk(path, to, () => undefined),
});

/** Like the disk, for whoever cannot wait for it for good. Once it has not answered, it is asked nothing more. */
export function impatientDisk(): FolderFiles {
  let silent: NoAnswer | null = null;
  const soon = async <Answer>(ask: (heard: () => void) => Promise<Answer>): Promise<Answer> => {
    if (silent !== null) throw silent;
    try {
      return await answered(ask, SOURCE_LIMITS.silence);
    } catch (error) {
      if (error instanceof NoAnswer) silent = error;
      throw error;
    }
  };
  return {
    namesIn: (folder) => soon(() => DISK.namesIn(folder)),
    kindOf: (path) => soon(() => DISK.kindOf(path)),
    ownKindOf: (path) => soon(() => DISK.ownKindOf(path)),
    realPathOf: (path) => soon(() => DISK.realPathOf(path)),
    read: (path, to) => soon((heard) => readFromDisk(path, to, heard)),
  };
}

/**
 * Like the disk, for whoever reads a folder again and again. A file whose times, size and number are those of the last time is not read
 * again, so somebody who sets its times back may go unnoticed: nothing may be decided by what this reads.
 */
export function rememberingDisk(): FolderFiles {
  const known = new Map<string, { readonly facts: string; readonly bytes: Uint8Array }>();
  return {
    ...DISK,
    read: async (path, to) => {
      const facts = await factsOf(path);
      const before = known.get(path);
      if (facts !== null && facts === before?.facts) return before.bytes;
      const read = await DISK.read(path, to);
      known.delete(path);
      if (facts !== null && typeof read !== 'string') known.set(path, { facts, bytes: read });
      return read;
    },
  };
}

/** Null for whatever is not a regular file. */
async function factsOf(path: string): Promise<string | null> {
  const facts = await lstat(path, { bigint: true }).catch(() => null);
  if (facts?.isFile() !== true) return null;
  return [facts.dev, facts.ino, facts.size, facts.mtimeNs, facts.ctimeNs].join();
}

function kindOf(facts: Stats): EntryKind {
  return facts.isFile() ? 'file' : facts.isDirectory() ? 'folder' : 'other';
}

async function readFromDisk(
  path: string,
  { links }: Links,
  heard: () => void,
): Promise<Uint8Array | 'special' | 'too_large'> {
  // Opened without blocking, and checked on the open file: a pipe that takes its place in the meantime can neither hang
  // nor pass.
  const follow = links === 'refused' ? constants.O_NOFOLLOW : 0;
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | follow);
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) return 'special';
    const limit = ENGINE_LIMITS.fileBytes;
    const { size } = facts;
    return size > limit ? 'too_large' : ((await readUpTo(handle, { limit, size, heard })) ?? 'too_large');
  } finally {
    await handle.close();
  }
}

/** Bytes that are read at once. A slow disk is heard after each of these. */
const CHUNK = 256 * 1024;

interface Reading {
  readonly limit: number;
  /** What the system says. It is not trusted, because a file may grow while it is read. */
  readonly size: number;
  readonly heard: () => void;
}

/** All bytes, or null if there are more than `limit`. */
async function readUpTo(handle: FileHandle, { limit, size, heard }: Reading): Promise<Uint8Array | null> {
  // With room for one more, a file that has not grown takes no other buffer.
  let buffer = Buffer.allocUnsafe(size + 1);
  for (let total = 0; ;) {
    const { bytesRead } = await handle.read(buffer, total, Math.min(CHUNK, buffer.length - total), null);
    heard();
    if (bytesRead === 0) return buffer.subarray(0, total);
    total += bytesRead;
    if (total > limit) return null;
    if (total === buffer.length) buffer = Buffer.concat([buffer], Math.min(2 * total, limit) + 1);
  }
}
