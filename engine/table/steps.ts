// Step functions over places. A step is one word, `place << 10 | set`: the scopes of that set are held from that place up to
// the next step. Nothing is held before the first step. A place takes 22 bits, because there are no more nodes than the
// 2,000,000 that grants can name, and the root. A set is a number (scope-numbers.ts); what does not fit into its ten bits stands
// in a second column, which few policies need.
//
// What somebody holds is two functions, one after the other: what is held always, then what is held at some time,
// through grants with a window. Each has a head: twice the number of its steps, plus 1 in the first if there is a
// second.
import type { SetWords } from './scope-numbers.js';

export const SET_BITS = 10;
/** The lower bits of the set of a step. */
export const LOW = (1 << SET_BITS) - 1;

/** Words whose lower bits are numbers of sets, with the upper bits of these numbers; those are empty if no number has any. */
export interface SetColumn {
  readonly words: Int32Array;
  readonly upper: Uint16Array;
}

/** A column, and what its numbers mean. */
export interface MeantColumn extends SetColumn {
  readonly sets: SetWords;
}

/** One word of the set at an index. */
export function bitsAt(column: MeantColumn, index: number, word: number): number {
  const { words, sets } = column;
  // Most policies declare no families. Their sets are bits already, and nothing asks them for a second word.
  if (sets.length === 0) return word === 0 ? (words[index] ?? 0) & LOW : 0;
  return sets[2 * setAt(column, index) + word] ?? 0;
}

/** The number of the set that a word holds. */
export function setAt({ words, upper }: SetColumn, index: number): number {
  const low = (words[index] ?? 0) & LOW;
  return upper.length === 0 ? low : low | ((upper[index] ?? 0) << SET_BITS);
}

/** Some words of a column. */
interface Range {
  readonly first: number;
  readonly end: number;
}

/**
 * The last of the sorted words with a number of at most `most`, or the index before the first. Every search in the
 * table uses this.
 */
export function lastUpTo(words: Int32Array, most: number, { first, end }: Range): number {
  let low = first - 1;
  let high = end;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((words[middle] ?? 0) >>> SET_BITS <= most) low = middle;
    else high = middle;
  }
  return low;
}

/** The step that counts at a place; the head if there is none. */
export function stepFor(words: Int32Array, head: number, place: number): number {
  return lastUpTo(words, place, { first: head + 1, end: head + 1 + ((words[head] ?? 0) >>> 1) });
}

/** The head of the function of what is held at some time, or -1. */
export function windowedHead(words: Int32Array, head: number): number {
  const first = words[head] ?? 0;
  return (first & 1) === 0 ? -1 : head + 1 + (first >>> 1);
}

/** The word after both functions. */
export function stepsEnd(words: Int32Array, head: number): number {
  const last = Math.max(head, windowedHead(words, head));
  return last + 1 + ((words[last] ?? 0) >>> 1);
}

/** A step function that is being made. Sets are their numbers. */
export interface Steps {
  readonly places: number[];
  readonly sets: number[];
}

export function noSteps(): Steps {
  return { places: [], sets: [] };
}

/** Adds the next step. A step at the place of the last one replaces it. A step that changes nothing is left out. */
export function addStep({ places, sets }: Steps, place: number, set: number): void {
  if (places.at(-1) === place) {
    places.pop();
    sets.pop();
  }
  if ((sets.at(-1) ?? 0) === set) return;
  places.push(place);
  sets.push(set);
}

/** What is held under either function. */
export function unionOfSteps(first: Steps, second: Steps, union: (a: number, b: number) => number): Steps {
  const steps = noSteps();
  let [i, j, ofFirst, ofSecond] = [0, 0, 0, 0];
  while (i < first.places.length || j < second.places.length) {
    const next = first.places[i] ?? Infinity;
    const other = second.places[j] ?? Infinity;
    if (next <= other) ofFirst = first.sets[i++] ?? 0;
    if (other <= next) ofSecond = second.sets[j++] ?? 0;
    addStep(steps, Math.min(next, other), union(ofFirst, ofSecond));
  }
  return steps;
}

/** Both functions of what somebody holds. */
export interface HeldSteps {
  readonly always: Steps;
  readonly windowed: Steps;
}

/** Writes a word with a set, in both columns. */
export function putSet(
  { words, upper }: SetColumn,
  index: number,
  { value, set }: { value: number; set: number },
): void {
  words[index] = (value << SET_BITS) | (set & LOW);
  // Where there is no second column, this writes nothing.
  upper[index] = set >>> SET_BITS;
}

/** Writes both functions, and returns the index of the word after them. */
export function putSteps(column: SetColumn, head: number, { always, windowed }: HeldSteps): number {
  const { words } = column;
  const end = putEach(column, head + 1, always);
  words[head] = 2 * always.places.length;
  if (windowed.places.length === 0) return end;
  words[head] = 2 * always.places.length + 1;
  words[end] = 2 * windowed.places.length;
  return putEach(column, end + 1, windowed);
}

function putEach(column: SetColumn, from: number, { places, sets }: Steps): number {
  places.forEach((value, i) => {
    putSet(column, from + i, { value, set: sets[i] ?? 0 });
  });
  return from + places.length;
}

/** Reads a step function that begins at a head. */
export function stepsAt(column: SetColumn, head: number): Steps {
  const { words } = column;
  const steps = noSteps();
  const end = head + 1 + ((words[head] ?? 0) >>> 1);
  for (let at = head + 1; at < end; at += 1) addStep(steps, (words[at] ?? 0) >>> SET_BITS, setAt(column, at));
  return steps;
}
