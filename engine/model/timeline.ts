// Step functions of time: which number (a set of scopes as bits, or a count) holds from when until when. Digests and proofs are
// exact over all time because they are computed on these, never at sampled instants (docs/meaning.md "Time").
import { firstFrom } from './row-lists.js';
import { ALL_SCOPES } from './scope.js';

/**
 * `values[i]` holds from `starts[i]` (milliseconds since 1970) until the next start, the last one forever. INVARIANT:
 * the first start is -Infinity, starts rise, and no two neighbouring values are equal.
 */
export interface Timeline {
  readonly starts: readonly number[];
  readonly values: readonly number[];
}

/** A stretch with one value: `from <= t < until`; -Infinity and Infinity are open. */
export interface Piece {
  readonly from: number;
  readonly until: number;
  readonly value: number;
}

/** One value forever. Most rights have no windows, so these are made once and compared by identity. */
const CONSTANTS: readonly Timeline[] = Array.from({ length: ALL_SCOPES + 1 }, (_, value) => makeConstant(value));

export const NOTHING: Timeline = constant(0);

function makeConstant(value: number): Timeline {
  return Object.freeze({ starts: Object.freeze([-Infinity]), values: Object.freeze([value]) });
}

export function constant(value: number): Timeline {
  return CONSTANTS[value] ?? makeConstant(value);
}

/** A value within a window and 0 outside it; nothing at all where the window is empty. */
export function during({ from, until, value }: Piece): Timeline {
  if (!(from < until) || value === 0) return NOTHING;
  if (from === -Infinity && until === Infinity) return constant(value);
  const starts = [-Infinity];
  const values = [0];
  if (from === -Infinity) values[0] = value;
  else {
    starts.push(from);
    values.push(value);
  }
  if (until !== Infinity) {
    starts.push(until);
    values.push(0);
  }
  return { starts, values };
}

/** Pointwise; `apply(0, 0)` must be 0. */
export function combine(a: Timeline, b: Timeline, apply: (a: number, b: number) => number): Timeline {
  if (a.values.length === 1 && b.values.length === 1) return constant(apply(a.values[0] ?? 0, b.values[0] ?? 0));
  const starts: number[] = [];
  const values: number[] = [];
  let i = 0;
  let j = 0;
  let at = -Infinity;
  for (;;) {
    const value = apply(a.values[i] ?? 0, b.values[j] ?? 0);
    if (values.length === 0 || values.at(-1) !== value) {
      starts.push(at);
      values.push(value);
    }
    const nextA = a.starts[i + 1] ?? Infinity;
    const nextB = b.starts[j + 1] ?? Infinity;
    at = Math.min(nextA, nextB);
    if (at === Infinity) return values.length === 1 ? constant(values[0] ?? 0) : { starts, values };
    if (nextA === at) i += 1;
    if (nextB === at) j += 1;
  }
}

export function either(a: Timeline, b: Timeline): Timeline {
  if (a === NOTHING) return b;
  return b === NOTHING ? a : combine(a, b, (x, y) => x | y);
}

/** The bits of the first that the second has not. */
export function without(a: Timeline, b: Timeline): Timeline {
  return b === NOTHING ? a : combine(a, b, (x, y) => x & ~y);
}

export function mapTimeline(timeline: Timeline, apply: (value: number) => number): Timeline {
  return combine(timeline, NOTHING, (value) => apply(value));
}

/** By halves, so that n windows cost n log n. */
export function unite(timelines: readonly Timeline[]): Timeline {
  let level = timelines;
  while (level.length > 1) {
    const next: Timeline[] = [];
    for (let i = 0; i < level.length; i += 2) next.push(either(level[i] ?? NOTHING, level[i + 1] ?? NOTHING));
    level = next;
  }
  return level[0] ?? NOTHING;
}

export function unionOf(pieces: readonly Piece[]): Timeline {
  return unite(pieces.map(during));
}

export function sameTimeline(a: Timeline, b: Timeline): boolean {
  if (a === b) return true;
  if (a.starts.length !== b.starts.length) return false;
  return a.starts.every((start, i) => start === b.starts[i] && a.values[i] === b.values[i]);
}

export function isNothing(timeline: Timeline): boolean {
  return timeline === NOTHING || (timeline.values.length === 1 && timeline.values[0] === 0);
}

/** All bits that a timeline has at any time. */
export function bitsOf(timeline: Timeline): number {
  return timeline.values.reduce((bits, value) => bits | value, 0);
}

/** All bits that a timeline has at some time of a stretch. */
export function bitsDuring(timeline: Timeline, { from, until }: Omit<Piece, 'value'>): number {
  let i = stepAt(timeline, from);
  let bits = timeline.values[i] ?? 0;
  for (i += 1; (timeline.starts[i] ?? Infinity) < until; i += 1) bits |= timeline.values[i] ?? 0;
  return bits;
}

/** The stretches with a value other than 0, in order. */
export function piecesOf({ starts, values }: Timeline): readonly Piece[] {
  return starts
    .map((from, i) => ({ from, until: starts[i + 1] ?? Infinity, value: values[i] ?? 0 }))
    .filter(({ value }) => value !== 0);
}

function stepAt({ starts }: Timeline, instant: number): number {
  return firstFrom(starts.length, (i) => (starts[i] ?? Infinity) > instant) - 1;
}
