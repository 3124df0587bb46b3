// Step functions as words: what is written is read again, and every search and union is that of a slow look at each place.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  addStep,
  bitsAt,
  type HeldSteps,
  lastUpTo,
  noSteps,
  putSteps,
  SET_BITS,
  setAt,
  type SetColumn,
  stepFor,
  type Steps,
  stepsAt,
  stepsEnd,
  unionOfSteps,
  windowedHead,
} from '../../../engine/table/steps.js';
import { testRuns } from '../../support/test-runs.js';

const RUNS = testRuns({ usual: 200, deep: 5000 });
/** The last place that fits into a word. */
const LAST_PLACE = 2 ** (32 - SET_BITS) - 1;
const PLACES = 12;

/** What is held at each of a few places, as bits. */
const heights = fc.array(fc.integer({ min: 0, max: 7 }), { minLength: PLACES, maxLength: PLACES });

function stepsOf(sets: readonly number[]): Steps {
  const steps = noSteps();
  sets.forEach((set, place) => {
    addStep(steps, place, set);
  });
  return steps;
}

function setsOf({ places, sets }: Steps): readonly number[] {
  return Array.from({ length: PLACES }, (_, place) => sets[places.findLastIndex((one) => one <= place)] ?? 0);
}

/** Both functions behind some words of others. */
function written(held: HeldSteps, isWide: boolean): { readonly column: SetColumn; readonly end: number } {
  const words = new Int32Array(64).fill(-1);
  const column = { words, upper: new Uint16Array(isWide ? 64 : 0) };
  return { column, end: putSteps(column, HEAD, held) };
}

const HEAD = 3;

describe('a step function', () => {
  it('has a step where what is held changes, and no other', () => {
    fc.assert(
      fc.property(heights, (sets) => {
        const steps = stepsOf(sets);
        expect(setsOf(steps)).toEqual(sets);
        const changes = sets.flatMap((set, place) => (set === (sets[place - 1] ?? 0) ? [] : [place]));
        expect(steps.places).toEqual(changes);
      }),
      RUNS,
    );
  });

  it('has the last of several steps at one place', () => {
    const steps = stepsOf([1]);
    addStep(steps, 4, 2);
    addStep(steps, 4, 3);
    expect(steps).toEqual({ places: [0, 4], sets: [1, 3] });
    addStep(steps, 4, 1);
    expect(steps).toEqual({ places: [0], sets: [1] });
    addStep(steps, 0, 0);
    expect(steps).toEqual(noSteps());
  });

  it('holds, as a union, what either function holds', () => {
    fc.assert(
      fc.property(heights, heights, (first, second) => {
        const union = unionOfSteps(stepsOf(first), stepsOf(second), (a, b) => a | b);
        expect(union).toEqual(stepsOf(first.map((set, place) => set | (second[place] ?? 0))));
      }),
      RUNS,
    );
  });
});

describe('step functions as words', () => {
  it('are read as they were written, and end where the next words begin', () => {
    fc.assert(
      fc.property(heights, heights, fc.boolean(), (first, second, isWide) => {
        // Numbers of more than ten bits, where a column has room for them.
        const [always, windowed] = [first, second].map((sets) =>
          stepsOf(sets.map((set) => set * (isWide ? 3000 : 100))),
        );
        if (always === undefined || windowed === undefined) throw new Error('there are two');
        const { column, end } = written({ always, windowed }, isWide);
        expect(stepsAt(column, HEAD)).toEqual(always);
        const head = windowedHead(column.words, HEAD);
        expect(head >= 0 ? stepsAt(column, head) : noSteps()).toEqual(windowed);
        expect(stepsEnd(column.words, HEAD)).toBe(end);
        expect(end).toBe(HEAD + 1 + always.places.length + (head < 0 ? 0 : 1 + windowed.places.length));
        expect([...column.words.subarray(0, HEAD), ...column.words.subarray(end)].every((word) => word === -1)).toBe(
          true,
        );
      }),
      RUNS,
    );
  });

  it('tell the step that counts at a place, up to the last that there can be', () => {
    fc.assert(
      fc.property(heights, heights, (first, second) => {
        const [always, windowed] = [stepsOf(first), stepsOf(second)];
        for (const steps of [always, windowed]) addStep(steps, LAST_PLACE, 9);
        const { column } = written({ always, windowed }, false);
        for (const [head, steps] of [
          [HEAD, always],
          [windowedHead(column.words, HEAD), windowed],
        ] as const) {
          for (const place of [...first.keys(), LAST_PLACE - 1, LAST_PLACE]) {
            const step = stepFor(column.words, head, place);
            expect(step).toBe(head + 1 + steps.places.findLastIndex((one) => one <= place));
            if (step > head) expect(setAt(column, step)).toBe(steps.sets[step - head - 1]);
          }
        }
      }),
      RUNS,
    );
  });

  it('name the scopes of a set: its own bits, or those of the two words that its number has', () => {
    const steps = { always: stepsOf([1, 0, 3]), windowed: noSteps() };
    const { column } = written(steps, false);
    const plain = { ...column, sets: new Int32Array(0) };
    expect([1, 2, 3].map((step) => bitsAt(plain, HEAD + step, 0))).toEqual([1, 0, 3]);
    expect([1, 2, 3].map((step) => bitsAt(plain, HEAD + step, 1))).toEqual([0, 0, 0]);
    const numbered = { ...column, sets: Int32Array.of(0, 0, 5, 6, 7, 8, 9, -1) };
    expect([1, 2, 3].map((step) => bitsAt(numbered, HEAD + step, 0))).toEqual([5, 0, 9]);
    expect([1, 2, 3].map((step) => bitsAt(numbered, HEAD + step, 1))).toEqual([6, 0, -1]);
  });

  it('name the scopes of sets beyond 1,024', () => {
    const sets = new Int32Array(2 * 5000).map((_, i) => i + 1);
    const { column } = written({ always: stepsOf([1024, 4999, 2]), windowed: noSteps() }, true);
    expect([1, 2, 3].map((step) => bitsAt({ ...column, sets }, HEAD + step, 0))).toEqual([2049, 9999, 5]);
    expect([1, 2, 3].map((step) => bitsAt({ ...column, sets }, HEAD + step, 1))).toEqual([2050, 10_000, 6]);
  });
});

describe('the search', () => {
  it('finds the last word with a number of at most so much, or the index before the first, within its range', () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 0, max: LAST_PLACE }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(numbers, fc.nat(), fc.nat(), fc.nat(), (found, a, b, c) => {
        const sorted = found.sort((x, y) => x - y);
        const words = Int32Array.from(sorted, (number, i) => (number << SET_BITS) | (i % 1024));
        const [first = 0, end = 0] = [a, b].map((n) => n % (sorted.length + 1)).sort((x, y) => x - y);
        const own = sorted[c % sorted.length] ?? 0;
        for (const most of [own - 1, own, own + 1])
          expect(lastUpTo(words, most, { first, end })).toBe(
            first + sorted.slice(first, end).findLastIndex((number) => number <= most),
          );
      }),
      RUNS,
    );
  });
});
