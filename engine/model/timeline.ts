// Step functions of time: which value (a set of scopes, or a count) holds from when until when. Digests and proofs are
// exact over all time because they are computed on these, never at sampled instants (docs/meaning.md "Time").
import { firstFrom } from './row-lists.js';
import { RECORD_SCOPE_SET, scopeBit, type ScopeSet, scopesWithout, unionScopes } from './scope-set.js';

/** Sets of scopes are values, too: equal ones are the same number or the same text. 0 is nothing. */
type Value = number | string;

/**
 * `values[i]` holds from `starts[i]` (milliseconds since 1970) until the next start, the last one forever. INVARIANT:
 * the first start is -Infinity, starts rise, and no two neighbouring values are equal.
 */
export interface Timeline<V extends Value = ScopeSet> {
  readonly starts: readonly number[];
  readonly values: readonly V[];
}

/** A stretch with one value: `from <= t < until`; -Infinity and Infinity are open. */
export interface Piece<V extends Value = ScopeSet> {
  readonly from: number;
  readonly until: number;
  readonly value: V;
}

/** One value forever. Most rights have no windows, so these are made once and compared by identity. */
const CONSTANTS: readonly Timeline<never>[] = Array.from({ length: RECORD_SCOPE_SET + 1 }, (_, value) =>
  makeConstant(value as never),
);

/** The value of nothing, among values of any kind. */
const ZERO = 0 as never;

export const NOTHING: Timeline<never> = constant(ZERO);

/** Stands for anything that is held, in timelines that say only whether something is. */
export const SOMETHING: ScopeSet = scopeBit('namespace:read');

function makeConstant<V extends Value>(value: V): Timeline<V> {
  return Object.freeze({ starts: Object.freeze([-Infinity]), values: Object.freeze([value]) });
}

export function constant<V extends Value>(value: V): Timeline<V> {
  return (typeof value === 'number' ? CONSTANTS[value] : undefined) ?? makeConstant(value);
}

/** A value within a window and 0 outside it; nothing at all where the window is empty. */
export function during<V extends Value>({ from, until, value }: Piece<V>): Timeline<V> {
  if (!(from < until) || value === 0) return NOTHING;
  if (from === -Infinity && until === Infinity) return constant(value);
  const starts = [-Infinity];
  const values: V[] = [ZERO];
  if (from === -Infinity) values[0] = value;
  else {
    starts.push(from);
    values.push(value);
  }
  if (until !== Infinity) {
    starts.push(until);
    values.push(ZERO);
  }
  return { starts, values };
}

/** Pointwise; `apply(0, 0)` must be 0. */
export function combine<A extends Value, B extends Value, C extends Value>(
  a: Timeline<A>,
  b: Timeline<B>,
  apply: (a: A, b: B) => C,
): Timeline<C> {
  if (a.values.length === 1 && b.values.length === 1) return constant(apply(a.values[0] ?? ZERO, b.values[0] ?? ZERO));
  const starts: number[] = [];
  const values: C[] = [];
  let i = 0;
  let j = 0;
  let at = -Infinity;
  for (;;) {
    const value = apply(a.values[i] ?? ZERO, b.values[j] ?? ZERO);
    if (values.length === 0 || values.at(-1) !== value) {
      starts.push(at);
      values.push(value);
    }
    const nextA = a.starts[i + 1] ?? Infinity;
    const nextB = b.starts[j + 1] ?? Infinity;
    at = Math.min(nextA, nextB);
    if (at === Infinity) return values.length === 1 ? constant(values[0] ?? ZERO) : { starts, values };
    if (nextA === at) i += 1;
    if (nextB === at) j += 1;
  }
}

export function either(a: Timeline, b: Timeline): Timeline {
  if (a === NOTHING) return b;
  return b === NOTHING ? a : combine(a, b, unionScopes);
}

/** The scopes of the first that the second has not. */
export function without(a: Timeline, b: Timeline): Timeline {
  return b === NOTHING ? a : combine(a, b, scopesWithout);
}

export function mapTimeline<A extends Value, C extends Value>(
  timeline: Timeline<A>,
  apply: (value: A) => C,
): Timeline<C> {
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

export function sameTimeline<V extends Value>(a: Timeline<V>, b: Timeline<V>): boolean {
  if (a === b) return true;
  if (a.starts.length !== b.starts.length) return false;
  return a.starts.every((start, i) => start === b.starts[i] && a.values[i] === b.values[i]);
}

export function isNothing(timeline: Timeline<Value>): boolean {
  return timeline === NOTHING || (timeline.values.length === 1 && timeline.values[0] === 0);
}

/** All scopes that a timeline has at any time. */
export function scopesIn(timeline: Timeline): ScopeSet {
  return timeline.values.reduce(unionScopes, ZERO);
}

/** All scopes that a timeline has at some time of a stretch. */
export function scopesDuring(timeline: Timeline, { from, until }: Omit<Piece, 'value'>): ScopeSet {
  let i = stepAt(timeline, from);
  let scopes: ScopeSet = timeline.values[i] ?? ZERO;
  for (i += 1; (timeline.starts[i] ?? Infinity) < until; i += 1)
    scopes = unionScopes(scopes, timeline.values[i] ?? ZERO);
  return scopes;
}

/** The stretches with a value other than 0, in order. */
export function piecesOf<V extends Value>({ starts, values }: Timeline<V>): readonly Piece<V>[] {
  return starts
    .map((from, i) => ({ from, until: starts[i + 1] ?? Infinity, value: values[i] ?? ZERO }))
    .filter(({ value }) => value !== 0);
}

function stepAt({ starts }: Pick<Timeline, 'starts'>, instant: number): number {
  return firstFrom(starts.length, (i) => (starts[i] ?? Infinity) > instant) - 1;
}
