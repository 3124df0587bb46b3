// Files that the user named: why one cannot be read; reading line by line, without ever holding more than a line; and
// writing a whole file or nothing. A file is written beside its place, synced, then renamed over it. So neither a crash
// nor a reader ever meets half a file, and the old one stays until then.
import { open, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { NoAnswer } from '../lib/stuck-disk.js';
import { makeFolder, writeWholeFile } from '../lib/whole-file.js';
import { CliFailure, EXIT } from './exit.js';
import { type CliIo, pathOf } from './io.js';
import { type FileFault, pathFaultOf, codeOf } from '../policy/policy-fault.js';

/** What a failed file operation says to the user; `shown` is the path as they wrote it. */
export function fileFailure(error: unknown, shown: string): CliFailure {
  return pathFailure(pathFaultOf(error), shown);
}

export function pathFailure(fault: FileFault, shown: string): CliFailure {
  const failure = (code: string, what: string, cause?: unknown): CliFailure =>
    new CliFailure(EXIT.usage, code, `\`${shown}\` ${what}`, { cause, ...(cause instanceof NoAnswer ? SILENT : {}) });
  switch (fault.kind) {
    case 'missing':
      return failure('cli.not_found', 'does not exist');
    case 'not_a_folder':
      return failure('cli.not_a_folder', 'is not a folder');
    case 'unreadable':
      return failure('cli.unreadable', `cannot be read (${fault.code})`, fault.cause);
  }
}

const SILENT = { help: 'see what the log of the system says about this disk, or name a file on another one' };

/** One line without its line end. Null bytes mean that it is longer than the limit and was skipped. */
export interface Line {
  /** Counts from 1. */
  readonly number: number;
  readonly bytes: Uint8Array | null;
}

const NEWLINE = 0x0a;

/**
 * Lines of a stream, as many at a time as have arrived. So a reader that answers batch by batch keeps up with a person
 * and with a file. Line ends are LF or CRLF. A last line without one counts; an empty rest does not.
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

/** The bytes of the file that the user named, or of stdin for `-`. Throws `CliFailure` if it is missing or no file. */
export async function openInput(io: CliIo, path: string): Promise<Readable> {
  if (path === '-') return io.stdin;
  const handle = await open(pathOf(io, path), 'r').catch((error: unknown) => {
    throw fileFailure(error, path);
  });
  if ((await handle.stat()).isDirectory()) {
    await handle.close();
    throw new CliFailure(EXIT.usage, 'cli.unreadable', `\`${path}\` is a folder`);
  }
  return handle.createReadStream({ highWaterMark: 64 * 1024 });
}

/** The size of the file that the user named; null for stdin and anything else of unknown length. */
export async function inputSize(io: CliIo, path: string): Promise<number | null> {
  if (path === '-') return null;
  const found = await stat(pathOf(io, path)).catch((error: unknown) => {
    throw fileFailure(error, path);
  });
  return found.isFile() && found.size > 0 ? found.size : null;
}

const MODE = 0o644;

export interface WriteTarget {
  /** How the user named the file. */
  readonly shown: string;
  /**
   * The absolute paths of what the command reads. They are not overwritten, nor are policy files in them, or logs with
   * the snapshots and the list that are kept beside them.
   */
  readonly inputs: readonly string[];
  /** Permissions, unless anybody may read the file. */
  readonly mode?: number;
}

/** Writes `bytes` to the absolute `path`. An existing link is followed and its target replaced. Throws `CliFailure`. */
export async function writeWhole(path: string, bytes: Uint8Array, target: WriteTarget): Promise<void> {
  try {
    const place = await placeOf(path, target);
    await writeWholeFile(place, bytes, target.mode ?? MODE);
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    const code = codeOf(error);
    throw new CliFailure(EXIT.usage, 'cli.unwritable', `\`${target.shown}\` cannot be written (${code})`, {
      ...(code === 'ENOENT' ? { help: 'make its folder first, or name a file in a folder that exists' } : {}),
      cause: error,
    });
  }
}

/** Writes one file of a folder that is made if it does not exist. Both are as the user named them. Throws `CliFailure`. */
export async function writeInto(
  io: CliIo,
  { folder, path, inputs }: { readonly folder: string; readonly path: string } & Pick<WriteTarget, 'inputs'>,
  bytes: Uint8Array,
): Promise<void> {
  const at = join(pathOf(io, folder), path);
  await makeFolder(dirname(at)).catch((cause: unknown) => {
    const code = codeOf(cause);
    if (code === 'EEXIST' || code === 'ENOTDIR') throw pathFailure({ kind: 'not_a_folder' }, folder);
    const message = `the folder \`${folder}\` cannot be made (${code})`;
    throw new CliFailure(EXIT.usage, 'cli.unwritable', message, { cause });
  });
  await writeWhole(at, bytes, { shown: join(folder, path), inputs });
}

const READ_IN_FOLDERS = /(?:\.(?:yaml|jsonl)|\/snapshots\/[0-9a-f]{64}\.json|\/archived\.sha256)$/;

/** The real path to replace. Refuses a device, pipe or folder: renaming over `/dev/null` would remove it. */
async function placeOf(path: string, target: WriteTarget): Promise<string> {
  const facts = await stat(path).catch(() => null);
  if (facts === null) return join(await realpath(dirname(path)), basename(path));
  if (!facts.isFile()) {
    throw new CliFailure(EXIT.usage, 'cli.unwritable', `\`${target.shown}\` is not a regular file`, {
      help: 'name a file; `-o -` writes to stdout',
    });
  }
  const place = await realpath(path);
  const inputs = await Promise.all(target.inputs.map((file) => realpath(file).catch(() => file)));
  if (inputs.some((input) => place === input || (READ_IN_FOLDERS.test(place) && place.startsWith(input + sep)))) {
    const message = `\`${target.shown}\` is read by this command and would be overwritten`;
    throw new CliFailure(EXIT.usage, 'cli.unwritable', message, { help: 'name another file' });
  }
  return place;
}

export interface Replacement {
  readonly from: Uint8Array;
  readonly to: Uint8Array;
  /** How messages name the file. */
  readonly shown: string;
}

/** `path` is absolute. Throws `CliFailure`. */
export async function replaceFile(path: string, { from, to, shown }: Replacement): Promise<void> {
  const [now, facts] = await Promise.all([readFile(path), stat(path)]).catch((error: unknown) => {
    throw fileFailure(error, shown);
  });
  // The file has the new content already: it was replaced under another name.
  if (now.equals(to)) return;
  if (!now.equals(from)) {
    throw new CliFailure(EXIT.precondition, 'cli.changed', `\`${shown}\` was changed meanwhile and was left alone`, {
      help: 'run the command again',
    });
  }
  await writeWhole(path, to, { shown, mode: facts.mode & 0o777, inputs: [] });
}
