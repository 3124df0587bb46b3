// Small files that are not trusted: they are read up to a limit, from the same file that was examined.
import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';

export interface SmallFile {
  readonly bytes: Buffer;
  readonly facts: Stats;
}

/** `message` continues a sentence that begins with the name of the file. It never quotes the file's content. */
export class SmallFileError extends Error {
  override readonly name = 'SmallFileError';
  readonly fault: 'missing' | 'unreadable' | 'too_large';

  constructor(fault: SmallFileError['fault'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** Throws `SmallFileError`. A pipe or device is refused. It cannot hang, because it is opened without blocking. */
export function readSmallFile(path: string, limit: number): Promise<SmallFile> {
  return read(path, limit, 'file');
}

/** The same, but also from a pipe, such as the shell makes of `<(…)`. Waits for whoever writes to it. */
export function readSmallFileOrPipe(path: string, limit: number): Promise<SmallFile> {
  return read(path, limit, 'file or pipe');
}

async function read(path: string, limit: number, kind: 'file' | 'file or pipe'): Promise<SmallFile> {
  const isBlocking = kind === 'file or pipe' && (await isPipe(path));
  try {
    const handle = await open(path, constants.O_RDONLY | (isBlocking ? 0 : constants.O_NONBLOCK));
    try {
      const facts = await handle.stat();
      if (!facts.isFile() && !(isBlocking && facts.isFIFO()))
        throw new SmallFileError('unreadable', 'is not a regular file');
      const buffer = Buffer.alloc(limit + 1);
      let length = 0;
      for (let more = 1; more > 0 && length <= limit; length += more) {
        more = (await handle.read(buffer, length, buffer.length - length, null)).bytesRead;
      }
      if (length > limit) throw new SmallFileError('too_large', `is larger than ${String(limit)} bytes`);
      return { bytes: buffer.subarray(0, length), facts };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof SmallFileError) throw error;
    const code = systemCodeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new SmallFileError('missing', 'does not exist');
    throw new SmallFileError('unreadable', `cannot be read (${code})`, { cause: error });
  }
}

async function isPipe(path: string): Promise<boolean> {
  return stat(path).then(
    (facts) => facts.isFIFO(),
    () => false,
  );
}

/** Such as `EACCES`. */
export function systemCodeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown reason';
}
