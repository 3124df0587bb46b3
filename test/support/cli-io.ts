// A CliIo that keeps its output, for commands that run inside the test.
import { PassThrough, Readable } from 'node:stream';
import type { CliIo } from '../../server/cli/io.js';

export interface MadeIo {
  readonly io: CliIo;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

export function makeIo(
  given: {
    readonly env?: CliIo['env'];
    readonly cwd?: string | undefined;
    readonly terminal?: boolean;
    readonly stdin?: string | Uint8Array | undefined;
  } = {},
): MadeIo {
  const terminal = given.terminal ?? false;
  const stdout = new PassThrough({ highWaterMark: 1 << 26 });
  const stderr = new PassThrough({ highWaterMark: 1 << 26 });
  const io: CliIo = {
    stdin: Readable.from(given.stdin === undefined ? [] : [Buffer.from(given.stdin)]),
    stdout,
    stderr,
    env: given.env ?? {},
    cwd: given.cwd ?? process.cwd(),
    isTerminal: { stdin: terminal, stdout: terminal, stderr: terminal },
    setStatus: () => undefined,
    loadFailures: () => Promise.resolve(),
  };
  const drain = (stream: PassThrough): string => String(stream.read() ?? '');
  return { io, stdout: () => drain(stdout), stderr: () => drain(stderr) };
}
