// Rights over all of time, as numbers. The instants of a timeline divide time into intervals, and each interval has a set of
// scopes. Equal timelines have equal numbers, so comparing rights means comparing integers.
import { invariant } from '../model/invariant.js';
import {
  commonScopes,
  NO_SCOPES,
  partsOf,
  RECORD_SCOPE_SET,
  RECORD_SETS,
  type ScopeSet,
  unionScopes,
} from '../model/scope-set.js';
import { combine, constant, during, type Timeline, unite } from '../model/timeline.js';
import { digestOf } from './hash.js';

/** Stands for a timeline. A number up to `RECORD_SCOPE_SET` means these of the ten scopes at all times; 0 means nothing at any time. */
export type TimelineNumber = number;

export const NEVER: TimelineNumber = 0;

export interface Timelines {
  /** True past the limit. Timelines made from then on are `NEVER` and must not be read. */
  readonly isFull: () => boolean;
  /** How much of the limit is used. */
  readonly kept: () => number;
  readonly during: (scopes: ScopeSet, notBefore: number, expires: number) => TimelineNumber;
  readonly union: (a: TimelineNumber, b: TimelineNumber) => TimelineNumber;
  /** The union of a list. Intermediate unions are not kept, so memory grows only in proportion to the list. */
  readonly unionOf: (list: readonly TimelineNumber[]) => TimelineNumber;
  readonly intersection: (a: TimelineNumber, b: TimelineNumber) => TimelineNumber;
  /** The number of maximal intervals. */
  readonly intervals: (timeline: TimelineNumber) => number;
  /** JSON of the maximal intervals: `[[from, scopes], …]`, where the first `from` is null and each lasts until the next. */
  readonly text: (timeline: TimelineNumber) => string;
}

const RADIX = 2 ** 26;
/** Longest text, in characters, that is used as a key itself. */
const SHORT = 1024;

/** `limit` bounds the intervals of all different timelines plus the remembered results of operations. */
export function makeTimelines(limit: number): Timelines {
  const timelines: Timeline[] = RECORD_SETS.map((set) => constant(set));
  const texts = timelines.map(textOf);
  let kept = 0;
  const isFull = (): boolean => kept > limit;
  const numbers = new Map<string, TimelineNumber>();

  const timelineOf = (timeline: TimelineNumber): Timeline => {
    const found = timelines[timeline];
    invariant(found !== undefined, 'timelines are made here only');
    return found;
  };

  const numberOf = (wanted: Timeline): TimelineNumber => {
    const [only = NEVER] = wanted.values;
    if (wanted.values.length === 1 && typeof only === 'number') return only;
    const text = textOf(wanted);
    const key = shortKey(text);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    kept += wanted.values.length;
    if (isFull()) return NEVER;
    invariant(timelines.length < RADIX, 'a policy has fewer timelines than pairs of them have keys');
    timelines.push(wanted);
    texts.push(text);
    numbers.set(key, timelines.length - 1);
    return timelines.length - 1;
  };

  const remembering = (
    operation: (x: ScopeSet, y: ScopeSet) => ScopeSet,
  ): ((a: TimelineNumber, b: TimelineNumber) => TimelineNumber) => {
    // Indexed by the second operand, which comes from a grant and so has few values. The keys of each map stay small integers.
    const memory: (Map<TimelineNumber, TimelineNumber> | undefined)[] = [];
    return (a, b) => {
      if (a === b) return a;
      const known = (memory[b] ??= new Map<TimelineNumber, TimelineNumber>());
      let result = known.get(a);
      if (result === undefined && !isFull()) {
        result = numberOf(combine(timelineOf(a), timelineOf(b), operation));
        known.set(a, result);
        kept += 1;
      }
      return result ?? NEVER;
    };
  };

  const rememberedUnion = remembering(unionScopes);
  const intersection = remembering(commonScopes);
  const union = (a: TimelineNumber, b: TimelineNumber): TimelineNumber =>
    a <= RECORD_SCOPE_SET && b <= RECORD_SCOPE_SET ? a | b : a === NEVER ? b : rememberedUnion(a, b);

  const unions = new Map<string, TimelineNumber>();
  const unionOf = (list: readonly TimelineNumber[]): TimelineNumber => {
    if (list.length <= 2) return union(list[0] ?? NEVER, list[1] ?? NEVER);
    // Holders with the same roles have the same lists.
    const key = shortKey(list.join());
    let result = unions.get(key);
    if (result === undefined && !isFull()) {
      result = numberOf(unite(list.map(timelineOf)));
      unions.set(key, result);
      kept += list.length;
    }
    return result ?? NEVER;
  };

  return {
    isFull,
    kept: () => kept,
    during: (scopes, notBefore, expires) => numberOf(during({ from: notBefore, until: expires, value: scopes })),
    union,
    unionOf,
    intersection: (a, b) => (a <= RECORD_SCOPE_SET && b <= RECORD_SCOPE_SET ? a & b : intersection(a, b)),
    intervals: (timeline) => timelineOf(timeline).values.length,
    text: (timeline) => {
      const found = texts[timeline];
      invariant(found !== undefined, 'timelines are made here only');
      return found;
    },
  };
}

/** A map tells long strings of equal length apart by comparing them. With thousands of similar strings that takes far too long. */
function shortKey(text: string): string {
  return text.length <= SHORT ? text : digestOf(text);
}

function textOf({ starts, values }: Timeline): string {
  const pairs = starts.map((from, i) => `[${i === 0 ? 'null' : String(from)},${scopesText(values[i] ?? NO_SCOPES)}]`);
  return `[${pairs.join()}]`;
}

/** A number for scopes of the ten. With others it is a list: that number, then their names, whatever their order in a policy. */
function scopesText(scopes: ScopeSet): string {
  if (typeof scopes === 'number') return String(scopes);
  const { record, own } = partsOf(scopes);
  return JSON.stringify([record, ...own]);
}
