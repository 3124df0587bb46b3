// What is kept of rows: what was made last, never that of another row, and never more than 65,536 values.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keep, keptOf, makeKept } from '../../../engine/table/kept.js';
import { testRuns } from '../../support/test-runs.js';

const MOST = 65_536;

it('is what was made last of a row, or nothing', () => {
  const row = fc.oneof(
    fc.nat(9),
    fc.nat(9).map((n) => n + MOST),
    fc.nat(9).map((n) => n + 3 * MOST),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(row, fc.boolean()), { maxLength: 60 }), (steps) => {
      const kept = makeKept<string>(4 * MOST);
      const made = new Map<number, string>();
      steps.forEach(([one, isMade], i) => {
        if (isMade) {
          const value = `${String(one)}, made at ${String(i)}`;
          made.set(one, value);
          expect(keep(kept, one, value)).toBe(value);
          expect(keptOf(kept, one)).toBe(value);
        } else {
          expect([undefined, made.get(one)]).toContain(keptOf(kept, one));
        }
      });
    }),
    testRuns({ usual: 50, deep: 500 }),
  );
});

it.each([0, 1, 2, 3, 1000, MOST])('is everything, of %d rows', (rows) => {
  const kept = makeKept<number>(rows);
  expect(kept.values.length).toBeLessThan(Math.max(2, 2 * rows));
  expect(kept.rows.length).toBe(kept.values.length);
  const all = Array.from({ length: rows }, (_, row) => row);
  expect(all.filter((row) => keptOf(kept, row) !== undefined)).toEqual([]);
  for (const row of all) keep(kept, row, row);
  expect(all.filter((row) => keptOf(kept, row) !== row)).toEqual([]);
});

it('is no more than 65,536 values, of however many rows', () => {
  for (const rows of [MOST + 1, 5_000_000]) {
    const kept = makeKept<number>(rows);
    for (let row = 0; row < 3 * MOST; row += 1) keep(kept, row, row);
    expect([kept.values.length, kept.rows.length]).toEqual([MOST, MOST]);
    expect([keptOf(kept, 0), keptOf(kept, 3 * MOST - 1)]).toEqual([undefined, 3 * MOST - 1]);
  }
});
