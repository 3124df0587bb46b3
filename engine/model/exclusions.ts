// Identities that exclude each other, as pairs of rows (docs/meaning.md "Exclusive identities"). However an author groups them into
// lists, the same pairs mean the same decisions.

import { firstFrom } from './row-lists.js';

/** Sorted, each pair once. `first` is the smaller row. */
export interface RowPairs {
  readonly first: Int32Array;
  readonly second: Int32Array;
}

/** `provider:subject` of two identities, sorted. */
export type ExclusivePair = readonly [string, string];

/** The number of pairs that lists of these lengths have, repetitions included. */
export function countPairs(lengths: Iterable<number>): number {
  let pairs = 0;
  for (const length of lengths) pairs += (length * (length - 1)) / 2;
  return pairs;
}

/** More than the number of rows of any policy. A pair is one number below 2^53, so that pairs are sorted as numbers. */
const ROWS = 2 ** 26;

/** All pairs of rows that stand in one list. */
export function pairRows(lists: readonly (readonly number[])[]): RowPairs {
  const keys = new Float64Array(countPairs(lists.map(({ length }) => length)));
  let end = 0;
  for (const list of lists) {
    for (const [i, a] of list.entries()) {
      for (const b of list.slice(i + 1)) {
        if (a !== b) keys[end++] = Math.min(a, b) * ROWS + Math.max(a, b);
      }
    }
  }
  const sorted = keys.subarray(0, end).sort();
  const once = sorted.filter((key, i) => i === 0 || key !== sorted[i - 1]);
  return {
    first: Int32Array.from(once, (key) => Math.floor(key / ROWS)),
    second: Int32Array.from(once, (key) => key % ROWS),
  };
}

/** The texts of each pair, in the order of the pairs. */
export function pairTexts({ first, second }: RowPairs, textOf: (row: number) => string): readonly ExclusivePair[] {
  return Array.from(first, (row, i) => [textOf(row), textOf(second[i] ?? 0)]);
}

/** The first pair among these rows, so that it does not depend on their order. Null if no two of them exclude each other. */
export function firstPair(pairs: RowPairs, rows: readonly number[]): readonly [number, number] | null {
  const sorted = [...rows].sort((a, b) => a - b);
  for (const [i, a] of sorted.entries()) {
    for (const b of sorted.slice(i + 1)) if (isPair(pairs, a, b)) return [a, b];
  }
  return null;
}

/** Whether the rows are a pair. */
function isPair({ first, second }: RowPairs, a: number, b: number): boolean {
  const [low, high] = a < b ? [a, b] : [b, a];
  const at = firstFrom(first.length, (i) => ((first[i] ?? 0) - low || (second[i] ?? 0) - high) >= 0);
  return first[at] === low && second[at] === high;
}
