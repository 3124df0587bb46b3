// Rights over all of time, as numbers: a timeline is a set of scopes in each of the intervals that its instants cut, and
// equal timelines have equal numbers, so that comparing rights is comparing integers (design 2.5, 4).
import { invariant } from '../model/invariant.js';
import { ALL_SCOPES, type ScopeSet } from '../model/scope.js';

/** The number of a timeline; a number up to `ALL_SCOPES` is these scopes at all times, 0 nothing ever. */
export type Timeline = number;

export const NEVER: Timeline = 0;

export interface Timelines {
  readonly during: (scopes: ScopeSet | number, notBefore: number, expires: number) => Timeline;
  readonly union: (a: Timeline, b: Timeline) => Timeline;
  readonly intersection: (a: Timeline, b: Timeline) => Timeline;
  /** JSON of the maximal intervals: `[[from, scopes], …]`, where the first `from` is null and each lasts until the next. */
  readonly text: (timeline: Timeline) => string;
}

/** Starts of intervals and the scopes of each, alternating; the first start is -Infinity and no two neighbours are alike. */
type Steps = readonly number[];

const RADIX = 2 ** 26;

export function makeTimelines(): Timelines {
  const steps: Steps[] = [];
  for (let scopes = 0; scopes <= ALL_SCOPES; scopes += 1) steps.push([-Infinity, scopes]);
  const texts: (string | undefined)[] = [];
  const numbers = new Map<string, Timeline>();

  const stepsOf = (timeline: Timeline): Steps => {
    const found = steps[timeline];
    invariant(found !== undefined, 'timelines are made here only');
    return found;
  };

  const numberOf = (wanted: Steps): Timeline => {
    if (wanted.length === 2) return wanted[1] ?? NEVER;
    const key = wanted.join();
    const known = numbers.get(key);
    if (known !== undefined) return known;
    invariant(steps.length < RADIX, 'a policy has fewer timelines than pairs of them have keys');
    steps.push(wanted);
    numbers.set(key, steps.length - 1);
    return steps.length - 1;
  };

  const combine = (a: Timeline, b: Timeline, operation: (x: number, y: number) => number): Timeline => {
    const left = stepsOf(a);
    const right = stepsOf(b);
    const joined: number[] = [];
    for (let i = 0, k = 0; i < left.length || k < right.length;) {
      const from = Math.min(left[i] ?? Infinity, right[k] ?? Infinity);
      if (left[i] === from) i += 2;
      if (right[k] === from) k += 2;
      const scopes = operation(left[i - 1] ?? 0, right[k - 1] ?? 0);
      if (joined.at(-1) !== scopes) joined.push(from, scopes);
    }
    return numberOf(joined);
  };

  const remembering = (operation: (x: number, y: number) => number): ((a: Timeline, b: Timeline) => Timeline) => {
    // By the second, which is a grant's and so one of few; keys stay small integers.
    const memory: (Map<Timeline, Timeline> | undefined)[] = [];
    return (a, b) => {
      if (a === b) return a;
      const known = (memory[b] ??= new Map<Timeline, Timeline>());
      let result = known.get(a);
      if (result === undefined) {
        result = combine(a, b, operation);
        known.set(a, result);
      }
      return result;
    };
  };

  const union = remembering((x, y) => x | y);
  const intersection = remembering((x, y) => x & y);

  return {
    during: (scopes, notBefore, expires) => {
      if (notBefore >= expires) return NEVER;
      const wanted: number[] = notBefore === -Infinity ? [] : [-Infinity, 0];
      wanted.push(notBefore, scopes);
      if (expires !== Infinity) wanted.push(expires, 0);
      return numberOf(wanted);
    },
    union: (a, b) => (a <= ALL_SCOPES && b <= ALL_SCOPES ? a | b : union(a, b)),
    intersection: (a, b) => (a <= ALL_SCOPES && b <= ALL_SCOPES ? a & b : intersection(a, b)),
    text: (timeline) => {
      const known = texts[timeline];
      if (known !== undefined) return known;
      const pairs: string[] = [];
      const found = stepsOf(timeline);
      for (let i = 0; i < found.length; i += 2) {
        pairs.push(`[${i === 0 ? 'null' : String(found[i])},${String(found[i + 1])}]`);
      }
      const text = `[${pairs.join()}]`;
      texts[timeline] = text;
      return text;
    },
  };
}
