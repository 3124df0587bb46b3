// Where the gateway's log lines go. They are written outside the event loop, in bounded memory. A log that cannot be
// written (a full disk, a reader that is gone or stuck) only loses its lines. Lost lines are counted, and the count is
// the first thing that is written when writing works again.
import { write } from 'node:fs';
import { LOG_LIMITS } from '../limits/logs.js';

export interface LogDestination {
  /** One line with its end. Never throws and never waits. */
  readonly write: (line: string) => void;
  /** Resolves when all lines are written, or cannot be. */
  readonly flush: () => Promise<void>;
}

/** Writes to an open file descriptor, which it does not close. */
export function makeLogDestination(fd: number): LogDestination {
  let lines: string[] = [];
  let held = 0;
  let dropped = 0;
  /** Whether the last line was only written in part, so that what comes next must start a new line. */
  let isTorn = false;
  let isWriting = false;
  const whenIdle: (() => void)[] = [];

  const pump = (): void => {
    if (isWriting) return;
    if (lines.length === 0) {
      for (const settle of whenIdle.splice(0)) settle();
      return;
    }
    isWriting = true;
    const told = dropped;
    const chunk = Buffer.from((isTorn ? '\n' : '') + (told === 0 ? '' : droppedLine(told)) + lines.join(''));
    const count = lines.length;
    lines = [];
    held = 0;
    put(fd, chunk, (written) => {
      isWriting = false;
      const isWhole = written === chunk.length;
      if (isWhole) dropped -= told;
      else dropped += count - countLines(chunk.subarray(0, written));
      isTorn = isWhole ? false : written > 0 ? chunk[written - 1] !== LINE_FEED : isTorn;
      pump();
    });
  };
  return {
    write: (line) => {
      if (held + line.length > LOG_LIMITS.bufferCharacters) {
        dropped += 1;
        return;
      }
      lines.push(line);
      held += line.length;
      pump();
    },
    flush: () =>
      new Promise((settle) => {
        const limit = setTimeout(settle, LOG_LIMITS.flushTimeout);
        whenIdle.push(() => {
          clearTimeout(limit);
          settle();
        });
        pump();
      }),
  };
}

const LINE_FEED = 0x0a;

function countLines(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => (byte === LINE_FEED ? sum + 1 : sum), 0);
}

/** Has the form of all lines of the log. */
function droppedLine(dropped: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped, msg: 'log lines were dropped: the log could not be written' })}\n`;
}

/**
 * Writes all bytes, or as many as possible. `done` gets how many that was. A reader that is only slow is waited for.
 */
function put(fd: number, bytes: Uint8Array, done: (written: number) => void, from = 0): void {
  write(fd, bytes, from, bytes.length - from, null, (error, written) => {
    if (error?.code === 'EAGAIN') {
      setTimeout(put, LOG_LIMITS.retryInterval, fd, bytes, done, from).unref();
      return;
    }
    const reached = from + (error === null ? written : 0);
    if (error !== null || reached === bytes.length) done(reached);
    else put(fd, bytes, done, reached);
  });
}
