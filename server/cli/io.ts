// The parts of the process that a command may touch: streams, environment, folder and exit status. Commands get them as
// an argument and never use `process` themselves, so that anything can run them.
import type { Readable, Writable } from 'node:stream';
import { resolve } from 'node:path';
import { type ExitStatus, usage } from './exit.js';
import { escapeJson } from './render/escape.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface CliIo {
  readonly stdin: Readable;
  /** Results. */
  readonly stdout: Writable;
  /** Messages and progress. */
  readonly stderr: Writable;
  readonly env: Environment;
  /** Absolute; relative paths of the command line start here. */
  readonly cwd: string;
  readonly isTerminal: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Sets how the process ends. The last call counts; without one the status is 0. */
  readonly setStatus: (status: ExitStatus) => void;
  /**
   * Loads what shows a failure, for what runs so long that another version may be installed in its place by then. Rejects if that is so
   * already.
   */
  readonly loadFailures: () => Promise<void>;
}

/**
 * Writes and waits until the stream takes more. A reader that went away (`| head`) is not an error: the stream is then
 * destroyed, and a command that streams checks `isClosed`.
 */
export async function write(stream: Writable, chunk: string | Uint8Array): Promise<void> {
  if (isClosed(stream)) return;
  await new Promise<void>((done) => {
    const settled = (): void => {
      stream.off('drain', settled).off('close', settled).off('error', settled);
      done();
    };
    stream.once('close', settled).once('error', settled);
    if (stream.write(chunk)) settled();
    else stream.once('drain', settled);
  });
}

/** Whether nobody reads what is written any more. */
export function isClosed(stream: Writable): boolean {
  return stream.destroyed || stream.errored !== null;
}

/** That nobody reads the results any more. */
class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** Like `write`, but throws where nobody reads, so that the work of `untilReaderGone` ends there. */
export async function writeToReader(stream: Writable, chunk: string | Uint8Array): Promise<void> {
  await write(stream, chunk);
  if (isClosed(stream)) throw new ReaderGone('nobody reads the results');
}

/** Null if the reader went away meanwhile. */
export async function untilReaderGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ReaderGone) return null;
    throw error;
  }
}

/** What a verb has found: for programs, and for people, to whom notes go on standard error first. */
export interface Answer {
  readonly json: () => object;
  readonly text: () => string | Promise<string>;
  readonly notes?: () => string;
}

export async function print(io: CliIo, format: string, { json, text, notes }: Answer): Promise<void> {
  if (format === 'json') {
    await writeJson(io, json());
    return;
  }
  if (notes !== undefined) await write(io.stderr, notes());
  await write(io.stdout, await text());
}

/** A path of the command line, absolute. Throws `CliFailure` 2 for none: it would be the current folder. */
export function pathOf(io: CliIo, path: string): string {
  if (path === '')
    throw usage(
      'the path of a file or folder is empty',
      'write one; a variable of the shell that is not set gives none',
    );
  return resolve(io.cwd, path);
}

/** A file of the command line, as the user named it and as it is opened. */
export function namedFile(io: CliIo, shown: string): { readonly path: string; readonly shown: string } {
  return { path: pathOf(io, shown), shown };
}

/** The absolute paths of files and folders of the command line, without those that are left out and without stdin. */
export function pathsOf(io: CliIo, named: readonly (string | undefined)[]): readonly string[] {
  return named.flatMap((one) => (one === undefined || one === '-' ? [] : [pathOf(io, one)]));
}

/** How many characters are gathered before they are written. */
const CHUNK = 64 * 1024;
/** A value with at most this many lists and objects is written as a whole, which is much faster. */
const SMALL = 256;

/**
 * One JSON text of plain data and a line end on stdout, without undefined fields; characters that a terminal could obey
 * are escaped. It is written in parts, because it may be larger than the largest possible string. The same is true of a
 * list in it, and of an element of a list with lists of its own.
 */
export async function writeJson(io: CliIo, value: object): Promise<void> {
  for (const part of jsonParts(value)) {
    if (isClosed(io.stdout)) return;
    await write(io.stdout, part);
  }
}

/** What `writeJson` writes. */
export function* jsonParts(value: object): Generator<string> {
  let pending = '';
  for (const part of partsOf(value)) {
    pending += part;
    if (pending.length < CHUNK) continue;
    yield escapeJson(pending);
    pending = '';
  }
  yield `${escapeJson(pending)}\n`;
}

function* partsOf(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null || sizeOf(value, SMALL) <= SMALL) yield JSON.stringify(value);
  else if (Array.isArray(value)) yield* partsOfList(value);
  else yield* partsOfObject(Object.entries(value));
}

/** How many lists and objects a value consists of. Stops counting above `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  let size = 1;
  const inside: readonly unknown[] = Object.values(value);
  for (const inner of inside) {
    if (size > most) break;
    size += sizeOf(inner, most - size);
  }
  return size;
}

function* partsOfList(list: readonly unknown[]): Generator<string> {
  yield '[';
  for (const [i, element] of list.entries()) {
    if (i > 0) yield ',';
    yield* partsOf(element ?? null);
  }
  yield ']';
}

function* partsOfObject(fields: Iterable<readonly [string, unknown]>): Generator<string> {
  let separator = '{';
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    yield* partsOf(value);
  }
  yield separator === '{' ? '{}' : '}';
}
