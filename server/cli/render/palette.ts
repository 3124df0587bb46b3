// Colours: only on a terminal, and not where `NO_COLOR` is set to anything (no-color.org).
import type { CliIo } from '../io.js';

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
