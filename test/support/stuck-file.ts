// A file of a disk that does not answer: a pipe that is full, so that whoever writes to it waits.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readSync, renameSync, writeSync } from 'node:fs';
import { systemCodeOf } from '../../server/lib/small-file.js';

export interface StuckFile {
  /** False once it was freed, by whomever. */
  readonly isStuck: () => boolean;
  /** Takes what waits to be written, and all that comes. */
  readonly free: () => void;
}

/** Seconds after which another process frees it: a wait of this whole process then fails, and does not hang. */
const LONGEST = 30;

/** Takes the place of the file. */
export function stickFile(path: string): StuckFile {
  const [pipe, freed] = [`${path}.pipe`, `${path}.freed`];
  execFileSync('mkfifo', [pipe]);
  const end = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  untilItWaits(() => writeSync(end, Buffer.alloc(512)));
  renameSync(pipe, path);
  const act = `sleep ${String(LONGEST)}; : > "$1"; exec cat "$0"`;
  const other = spawn('sh', ['-c', act, path, freed], { stdio: 'ignore' });
  return {
    isStuck: () => !existsSync(freed),
    free: () => {
      untilItWaits(() => readSync(end, Buffer.alloc(65_536)));
      closeSync(end);
      other.kill('SIGKILL');
    },
  };
}

function untilItWaits(step: () => number): void {
  try {
    while (step() > 0);
  } catch (error) {
    if (systemCodeOf(error) !== 'EAGAIN') throw error;
  }
}
