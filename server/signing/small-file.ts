// Files of a few kilobytes that must not be believed: read up to a limit, from the file that was looked at.
import type { Stats } from 'node:fs';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { SigningError } from './signing-error.js';

/** A file as the user named it and as it is opened. */
export interface NamedFile {
  readonly path: string;
  readonly shown: string;
}

export interface SmallFile {
  readonly bytes: Buffer;
  readonly facts: Stats;
}

/** Throws `SigningError`. A pipe or device is refused, and cannot hang: it is opened without waiting. */
export async function readSmallFile({ path, shown }: NamedFile, limit: number): Promise<SmallFile> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) throw new SigningError('file.unreadable', `\`${shown}\` is not a regular file`);
      const buffer = Buffer.alloc(limit + 1);
      let length = 0;
      for (let more = 1; more > 0 && length <= limit; length += more) {
        more = (await handle.read(buffer, length, buffer.length - length, null)).bytesRead;
      }
      if (length > limit)
        throw new SigningError('file.too_large', `\`${shown}\` is larger than ${String(limit)} bytes`);
      return { bytes: buffer.subarray(0, length), facts };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SigningError) throw error;
    const code = systemCodeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new SigningError('file.not_found', `\`${shown}\` does not exist`);
    throw new SigningError('file.unreadable', `\`${shown}\` cannot be read (${code})`, { cause: error });
  }
}

/** Such as `EACCES`. */
export function systemCodeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason';
}
