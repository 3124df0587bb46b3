// What only a terminal gets. Colours: not where `NO_COLOR` is set to anything (no-color.org). And one line that says how far work over a
// second has come; it is removed when the work is done.
import { type CliIo, isClosed } from '../io.js';

export type Style = 'error' | 'warning' | 'info' | 'good' | 'strong' | 'faint';
export type Paint = (style: Style, text: string) => string;

const CODES: ReadonlyMap<Style, readonly [number, number]> = new Map<Style, readonly [number, number]>([
  ['error', [31, 39]],
  ['warning', [33, 39]],
  ['info', [36, 39]],
  ['good', [32, 39]],
  ['strong', [1, 22]],
  ['faint', [2, 22]],
]);

/** Paints nothing: what files, pipes and `NO_COLOR` get. */
export const plain: Paint = (_style, text) => text;

const coloured: Paint = (style, text) => {
  const [on, off] = CODES.get(style) ?? [0, 0];
  return `\u001b[${String(on)}m${text}\u001b[${String(off)}m`;
};

/** The paint for one of the two output streams. */
export function paintFor(io: CliIo, stream: 'stdout' | 'stderr'): Paint {
  const refused = io.env['NO_COLOR'] !== undefined && io.env['NO_COLOR'] !== '';
  return io.isTerminal[stream] && !refused && io.env['TERM'] !== 'dumb' ? coloured : plain;
}

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

/** Nothing is shown where stderr is no terminal. `now` in milliseconds. */
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
