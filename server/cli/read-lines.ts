// Bytes to lines, without ever holding more than one: for JSON Lines of any length.
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { EXIT } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { type CliIo, pathOf } from './io.js';
import { fileFailure } from './files.js';

/** One line without its line end; null bytes: it is longer than the limit and was skipped. */
export interface Line {
  /** Counts from 1. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

const NEWLINE = 0x0a;

/**
 * Lines of a stream, as many at a time as have arrived: who answers batch by batch keeps up with a person and with a file.
 * Line ends are LF or CRLF; a last line without one counts, an empty rest does not.
 */
export async function* readLines(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<readonly Line[]> {
  const pending: Pending = { chunks: [], length: 0, tooLong: false };
  let number = 0;
  for await (const chunk of stream) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      append(pending, chunk.subarray(start, end), maxBytes);
      number += 1;
      lines.push({ number, bytes: take(pending) });
      start = end + 1;
    }
    if (start < chunk.length) append(pending, chunk.subarray(start), maxBytes);
    if (lines.length > 0) yield lines;
  }
  if (pending.length > 0 || pending.tooLong) yield [{ number: number + 1, bytes: take(pending) }];
}

interface Pending {
  chunks: Uint8Array[];
  length: number;
  tooLong: boolean;
}

function append(pending: Pending, bytes: Uint8Array, maxBytes: number): void {
  pending.length += bytes.length;
  pending.tooLong ||= pending.length > maxBytes;
  if (pending.tooLong) pending.chunks = [];
  else if (bytes.length > 0) pending.chunks.push(bytes);
}

function take(pending: Pending): Uint8Array | null {
  const [only] = pending.chunks;
  const line = pending.tooLong
    ? null
    : pending.chunks.length === 1 && only !== undefined
      ? only
      : Buffer.concat(pending.chunks);
  pending.chunks = [];
  pending.length = 0;
  pending.tooLong = false;
  return line?.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}

/** The bytes of the file that the user named, or of stdin for `-`. Throws `CliFailure` where it is missing or no file. */
export async function openInput(io: CliIo, path: string): Promise<Readable> {
  if (path === '-') return io.stdin;
  const handle = await open(pathOf(io, path), 'r').catch((error: unknown) => {
    throw fileFailure(error, path);
  });
  if ((await handle.stat()).isDirectory()) {
    await handle.close();
    throw new CliFailure(EXIT.usage, { code: 'cli.unreadable', message: `\`${path}\` is a folder` });
  }
  return handle.createReadStream({ highWaterMark: 64 * 1024 });
}

/** Bytes of the file that the user named; null for stdin and whatever else has no end that is known. */
export async function inputSize(io: CliIo, path: string): Promise<number | null> {
  if (path === '-') return null;
  const found = await stat(pathOf(io, path)).catch((error: unknown) => {
    throw fileFailure(error, path);
  });
  return found.isFile() && found.size > 0 ? found.size : null;
}
