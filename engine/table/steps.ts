// Step functions over places. A step is one word, `place << 10 | scopes`: these scopes are held from that place up to
// the next step. Nothing is held before the first step. A place takes 22 bits, because there are no more nodes than the
// 2,000,000 that grants can name, and the root.
//
// What somebody holds is two functions, one after the other: what is held always, then what is held at some time,
// through grants with a window. Each has a head: twice the number of its steps, plus 1 in the first if there is a
// second.

export const SCOPE_BITS = 10;
/** The scopes of a step. */
export const ALL = (1 << SCOPE_BITS) - 1;

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
    if ((words[middle] ?? 0) >>> SCOPE_BITS <= most) low = middle;
    else high = middle;
  }
  return low;
}

/** The scopes at a place. */
export function scopesAt(words: Int32Array, head: number, place: number): number {
  const step = lastUpTo(words, place, { first: head + 1, end: head + 1 + ((words[head] ?? 0) >>> 1) });
  return step === head ? 0 : (words[step] ?? 0) & ALL;
}

/** The head of the function of what is held at some time, or -1. */
export function windowedHead(words: Int32Array, head: number): number {
  const first = words[head] ?? 0;
  return (first & 1) === 0 ? -1 : head + 1 + (first >>> 1);
}

/** The scopes that are held at a place, always or at some time. */
export function scopesAtAll(words: Int32Array, head: number, place: number): number {
  const windowed = windowedHead(words, head);
  return scopesAt(words, head, place) | (windowed < 0 ? 0 : scopesAt(words, windowed, place));
}

/** The word after both functions. */
export function stepsEnd(words: Int32Array, head: number): number {
  const last = Math.max(head, windowedHead(words, head));
  return last + 1 + ((words[last] ?? 0) >>> 1);
}

/** Adds the next step. A step at the place of the last one replaces it. A step that changes nothing is left out. */
export function addStep(steps: number[], place: number, scopes: number): void {
  if (steps.length > 0 && (steps.at(-1) ?? 0) >>> SCOPE_BITS === place) steps.pop();
  const before = steps.length === 0 ? 0 : (steps.at(-1) ?? 0) & ALL;
  if (before !== scopes) steps.push((place << SCOPE_BITS) | scopes);
}

/** What is held under either function. */
export function unionOfSteps(first: ArrayLike<number>, second: ArrayLike<number>): number[] {
  const steps: number[] = [];
  let [i, j, ofFirst, ofSecond] = [0, 0, 0, 0];
  while (i < first.length || j < second.length) {
    const next = i < first.length ? (first[i] ?? 0) >>> SCOPE_BITS : Infinity;
    const other = j < second.length ? (second[j] ?? 0) >>> SCOPE_BITS : Infinity;
    if (next <= other) ofFirst = (first[i++] ?? 0) & ALL;
    if (other <= next) ofSecond = (second[j++] ?? 0) & ALL;
    addStep(steps, Math.min(next, other), ofFirst | ofSecond);
  }
  return steps;
}

/** Writes both functions, and returns the index of the word after them. */
export function putSteps(
  words: Int32Array,
  head: number,
  { always, windowed }: { readonly always: readonly number[]; readonly windowed: readonly number[] },
): number {
  words[head] = 2 * always.length;
  words.set(always, head + 1);
  const end = head + 1 + always.length;
  if (windowed.length === 0) return end;
  words[head] = 2 * always.length + 1;
  words[end] = 2 * windowed.length;
  words.set(windowed, end + 1);
  return end + 1 + windowed.length;
}
