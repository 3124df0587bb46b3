// Rights over all of time, as numbers: a timeline is a set of scopes in each of the intervals that its instants cut, and
// equal timelines have equal numbers, so that comparing rights is comparing integers.
import { invariant } from '../model/invariant.js';
import { ALL_SCOPES, type ScopeSet } from '../model/scope.js';
import { digestOf } from './hash.js';

/** The number of a timeline; a number up to `ALL_SCOPES` is these scopes at all times, 0 nothing ever. */
export type Timeline = number;

export const NEVER: Timeline = 0;

export interface Timelines {
  /** Past the limit: what is made from then on is `NEVER` and must not be read. */
  readonly isFull: () => boolean;
  readonly during: (scopes: ScopeSet | number, notBefore: number, expires: number) => Timeline;
  readonly union: (a: Timeline, b: Timeline) => Timeline;
  /** Of any number, without keeping what lies between: many disjoint ones take memory in proportion to their number. */
  readonly unionOf: (list: readonly Timeline[]) => Timeline;
  readonly intersection: (a: Timeline, b: Timeline) => Timeline;
  /** How many maximal intervals it has. */
  readonly intervals: (timeline: Timeline) => number;
  /** JSON of the maximal intervals: `[[from, scopes], …]`, where the first `from` is null and each lasts until the next. */
  readonly text: (timeline: Timeline) => string;
}

/** Starts of intervals and the scopes of each, alternating; the first start is -Infinity and no two neighbours are alike. */
type Steps = readonly number[];

const RADIX = 2 ** 26;
/** Characters of a text that is its own key. */
const SHORT = 1024;

/** `limit` bounds the intervals of all different timelines, and what is remembered of how they were made. */
export function makeTimelines(limit: number): Timelines {
  const steps: Steps[] = [];
  for (let scopes = 0; scopes <= ALL_SCOPES; scopes += 1) steps.push([-Infinity, scopes]);
  const texts = steps.map(textOf);
  let kept = 0;
  const isFull = (): boolean => kept > limit;
  const numbers = new Map<string, Timeline>();

  const stepsOf = (timeline: Timeline): Steps => {
    const found = steps[timeline];
    invariant(found !== undefined, 'timelines are made here only');
    return found;
  };

  const numberOf = (wanted: Steps): Timeline => {
    if (wanted.length === 2) return wanted[1] ?? NEVER;
    const text = textOf(wanted);
    const key = shortKey(text);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    kept += wanted.length / 2;
    if (isFull()) return NEVER;
    invariant(steps.length < RADIX, 'a policy has fewer timelines than pairs of them have keys');
    steps.push(wanted);
    texts.push(text);
    numbers.set(key, steps.length - 1);
    return steps.length - 1;
  };

  const remembering = (operation: Operation): ((a: Timeline, b: Timeline) => Timeline) => {
    // By the second, which is a grant's and so one of few; keys stay small integers.
    const memory: (Map<Timeline, Timeline> | undefined)[] = [];
    return (a, b) => {
      if (a === b) return a;
      const known = (memory[b] ??= new Map<Timeline, Timeline>());
      let result = known.get(a);
      if (result === undefined && !isFull()) {
        result = numberOf(combine(stepsOf(a), stepsOf(b), operation));
        known.set(a, result);
        kept += 1;
      }
      return result ?? NEVER;
    };
  };

  const rememberedUnion = remembering(OR);
  const intersection = remembering((x, y) => x & y);
  const union = (a: Timeline, b: Timeline): Timeline =>
    a <= ALL_SCOPES && b <= ALL_SCOPES ? a | b : a === NEVER ? b : rememberedUnion(a, b);

  const unions = new Map<string, Timeline>();
  const unionOf = (list: readonly Timeline[]): Timeline => {
    if (list.length <= 2) return union(list[0] ?? NEVER, list[1] ?? NEVER);
    // Those who have the same roles have the same lists.
    const key = shortKey(list.join());
    let result = unions.get(key);
    if (result === undefined && !isFull()) {
      result = numberOf(uniteByHalves(list.map(stepsOf)));
      unions.set(key, result);
      kept += list.length;
    }
    return result ?? NEVER;
  };

  return {
    isFull,
    during: (scopes, notBefore, expires) => {
      if (notBefore >= expires) return NEVER;
      const wanted: number[] = notBefore === -Infinity ? [] : [-Infinity, 0];
      wanted.push(notBefore, scopes);
      if (expires !== Infinity) wanted.push(expires, 0);
      return numberOf(wanted);
    },
    union,
    unionOf,
    intersection: (a, b) => (a <= ALL_SCOPES && b <= ALL_SCOPES ? a & b : intersection(a, b)),
    intervals: (timeline) => stepsOf(timeline).length / 2,
    text: (timeline) => {
      const found = texts[timeline];
      invariant(found !== undefined, 'timelines are made here only');
      return found;
    },
  };
}

type Operation = (x: number, y: number) => number;

const OR: Operation = (x, y) => x | y;

function combine(left: Steps, right: Steps, operation: Operation): Steps {
  const joined: number[] = [];
  for (let i = 0, k = 0; i < left.length || k < right.length;) {
    const from = Math.min(left[i] ?? Infinity, right[k] ?? Infinity);
    if (left[i] === from) i += 2;
    if (right[k] === from) k += 2;
    const scopes = operation(left[i - 1] ?? 0, right[k - 1] ?? 0);
    if (joined.at(-1) !== scopes) joined.push(from, scopes);
  }
  return joined;
}

/** In n log n steps, where one after the other takes n squared. */
function uniteByHalves(list: readonly Steps[]): Steps {
  let level = list;
  while (level.length > 1) {
    const next: Steps[] = [];
    for (let i = 0; i < level.length; i += 2) next.push(combine(level[i] ?? [], level[i + 1] ?? [], OR));
    level = next;
  }
  return level[0] ?? [];
}

/** Maps tell long texts of one length apart by comparing them: where thousands are nearly alike that never ends. */
function shortKey(text: string): string {
  return text.length <= SHORT ? text : digestOf(text);
}

function textOf(steps: Steps): string {
  const pairs: string[] = [];
  for (let i = 0; i < steps.length; i += 2)
    pairs.push(`[${i === 0 ? 'null' : String(steps[i])},${String(steps[i + 1])}]`);
  return `[${pairs.join()}]`;
}
