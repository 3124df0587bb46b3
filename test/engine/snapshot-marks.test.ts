// A set of rows is given back in ascending order, each row once, and is empty then.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { makeMarks, mark, takeMarked } from '../../engine/snapshot/marks.js';
import { testRuns } from '../support/test-runs.js';

const ROWS = 3000;
const marks = makeMarks(ROWS);
const to = new Int32Array(ROWS);

function taken(rows: readonly number[]): readonly number[] {
  const met = new Set<number>();
  for (const row of rows) {
    expect(mark(marks, row)).toBe(!met.has(row));
    met.add(row);
  }
  return Array.from(to.subarray(0, takeMarked(marks, to)));
}

it('has each row once, in ascending order, and none of the set before', () => {
  const anyRow = fc.oneof(fc.nat(ROWS - 1), fc.constantFrom(0, 31, 32, 63, 1023, 1024, 2047, ROWS - 1));
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 40 }), (rows) => {
      expect(taken(rows)).toEqual([...new Set(rows)].sort((a, b) => a - b));
    }),
    testRuns(200),
  );
});

it('can have all rows, and none', () => {
  const all = Array.from({ length: ROWS }, (_, row) => row);
  expect(taken(all.toReversed())).toEqual(all);
  expect(taken([])).toEqual([]);
});

it('takes a bit for each row, and a bit for each word of these', () => {
  for (const [count, words, groups] of [
    [0, 1, 1],
    [31, 1, 1],
    [32, 2, 1],
    [1023, 32, 2],
    [ROWS, 94, 3],
  ] as const) {
    const { rows, words: upper } = makeMarks(count);
    expect([count, rows.length, upper.length]).toEqual([count, words, groups]);
  }
});
