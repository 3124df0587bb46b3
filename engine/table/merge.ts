// What several principals hold together, as one pair of step functions. For an actor that is kept, one search then
// answers for all of them.
import type { DecisionTable } from './columns.js';
import { isHeldBy, mayBeHeld, type Wanted } from './judge.js';
import { makeSetNumbers, PLAIN, type SetNumbers, type SetWords, wordOf } from './scope-numbers.js';
import {
  heldAt,
  noSteps,
  putSteps,
  type SetColumn,
  type Steps,
  stepsAt,
  stepsEnd,
  unionOfSteps,
  windowedHead,
} from './steps.js';

/** In the form of `runs` (steps.ts), with numbers of its own for sets: what several hold together may be no set of the table. */
export interface MergedSteps extends SetColumn {
  readonly sets: SetWords;
}

/**
 * The most words that are kept for one actor, which are 4 KiB. Many actors are kept, so an actor with more is judged
 * principal by principal. As there is at least one word for each set, numbers of sets fit into their ten bits.
 */
const MOST = 1024;

/** Null if there is nothing to merge, or too much. */
export function mergeSteps({ runs, runSets, sets }: DecisionTable, held: Int32Array): MergedSteps | null {
  let count = 0;
  for (const run of held) count += stepsEnd(runs, run + 1) - run - 1;
  if (count === 0 || count > MOST) return null;
  const numbers = sets.length === 0 ? PLAIN : makeSetNumbers();
  let always = noSteps();
  let windowed = noSteps();
  for (const run of held) {
    const second = windowedHead(runs, run + 1);
    always = unionOfSteps(always, renumbered(stepsAt(runSets, run + 1), sets, numbers), numbers.union);
    if (second >= 0)
      windowed = unionOfSteps(windowed, renumbered(stepsAt(runSets, second), sets, numbers), numbers.union);
  }
  const column = { words: new Int32Array(count), upper: NO_UPPER };
  // Only sets that are left at the end are few enough.
  const left = sets.length === 0 ? PLAIN : makeSetNumbers();
  const met = numbers.words();
  const end = putSteps(column, 0, {
    always: renumbered(always, met, left),
    windowed: renumbered(windowed, met, left),
  });
  return { words: column.words.slice(0, end), upper: NO_UPPER, sets: left.words() };
}

function renumbered(steps: Steps, sets: SetWords, { numberOf }: SetNumbers): Steps {
  return { ...steps, sets: steps.sets.map((set) => numberOf(wordOf(sets, set, 0), wordOf(sets, set, 1))) };
}

const NO_UPPER = new Uint16Array(0);

export interface Held {
  /** Of the principals: the first `count`. */
  readonly runs: Int32Array;
  readonly count: number;
  /** What they hold together, if it was merged. */
  readonly merged: MergedSteps | null;
}

/** Whether one of the principals holds it. */
export function isHeldByAny(table: DecisionTable, { runs, count, merged }: Held, wanted: Wanted): boolean {
  if (merged !== null) {
    const { sets } = merged;
    if ((wordOf(sets, heldAt(merged, 0, wanted.place), wanted.word) & wanted.scopes) !== 0) return true;
    if (!mayBeHeld(merged, sets, { head: 0, wanted })) return false;
  }
  for (let i = 0; i < count; i += 1) if (isHeldBy(table, runs[i] ?? 0, wanted)) return true;
  return false;
}
