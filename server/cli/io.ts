// What a command may touch of the process: streams, environment, folder and exit status. Commands get it as an argument and
// never use `process` themselves, so that they can be run by anything.
import type { Readable, Writable } from 'node:stream';
import { resolve } from 'node:path';
import type { ExitStatus } from './exit-codes.js';
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
  /** Says how the process is to end; the last word counts. A command that says nothing ends with 0. */
  readonly setStatus: (status: ExitStatus) => void;
}

/**
 * Writes and waits until the stream takes more. A reader that went away (`| head`) is not an error: the stream is destroyed
 * then, and a command that streams looks at `isClosed`.
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

/** One JSON text and a line end on stdout; characters that a terminal could obey are escaped. */
export async function writeJson(io: CliIo, value: unknown): Promise<void> {
  await write(io.stdout, `${escapeJson(JSON.stringify(value))}\n`);
}

/** A path of the command line, absolute. */
export function pathOf(io: CliIo, path: string): string {
  return resolve(io.cwd, path);
}
