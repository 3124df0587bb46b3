// One line on a terminal that says how far work over a second has come; it is removed when the work is done. Nothing at all
// where stderr is not a terminal.
import { type CliIo, isClosed } from '../io.js';

export interface Progress {
  /** What to show from now on; cheap, may be called for every item. Shown at most ten times a second. */
  readonly update: (text: string) => void;
  /** What is about to be done, where nothing can be shown meanwhile; told at once, since it may be long. */
  readonly phase: (text: string) => void;
  /** Removes the line. */
  readonly done: () => void;
}

const QUIET = 1_000;
const INTERVAL = 100;
const CLEAR_LINE = '\r\u001b[K';

const NONE: Progress = Object.freeze({ update: () => undefined, phase: () => undefined, done: () => undefined });

/** `now` in milliseconds. */
export function startProgress(io: CliIo, now: () => number = Date.now): Progress {
  if (!io.isTerminal.stderr) return NONE;
  const started = now();
  let last = started;
  let shown = false;
  const show = (text: string): void => {
    if (isClosed(io.stderr)) return;
    shown = true;
    io.stderr.write(`${CLEAR_LINE}${text}`);
  };
  return {
    update: (text) => {
      const time = now();
      if (time - started < QUIET || time - last < INTERVAL) return;
      last = time;
      show(text);
    },
    phase: show,
    done: () => {
      if (shown) io.stderr.write(CLEAR_LINE);
      shown = false;
    },
  };
}
