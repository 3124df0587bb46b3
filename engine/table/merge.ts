// What several principals hold together, as one pair of step functions. For an actor that is kept, one search then
// answers for all of them.
import type { DecisionTable } from './columns.js';
import { isHeldBy, type Wanted } from './judge.js';
import { makeSetNumbers, PLAIN, type SetNumbers, type SetWords, wordOf } from './scope-numbers.js';
import { LOW, noSteps, putSteps, type Steps, stepFor, stepsAt, stepsEnd, unionOfSteps, windowedHead } from './steps.js';

/**
 * In the form of `runs` (steps.ts), with numbers of its own for sets, because what several hold together may be no set of the table. The
 * first word is where the words of these sets begin, or 0 if sets are their own bits. All is in one array, so that it is in few cache lines.
 */
export type MergedSteps = Int32Array;

/** Where its step functions begin. */
const HEAD = 1;

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
  // Only sets that are left at the end are few enough.
  const left = sets.length === 0 ? PLAIN : makeSetNumbers();
  const met = numbers.words();
  const words = new Int32Array(HEAD + count);
  const steps = { always: renumbered(always, met, left), windowed: renumbered(windowed, met, left) };
  const end = putSteps({ words, upper: NO_UPPER }, HEAD, steps);
  return withSets(words.subarray(0, end), left.words());
}

function withSets(steps: Int32Array, sets: SetWords): MergedSteps | null {
  const length = steps.length + sets.length;
  if (length - HEAD > MOST) return null;
  const merged = new Int32Array(length);
  merged.set(steps);
  merged.set(sets, steps.length);
  if (sets.length > 0) merged[0] = steps.length;
  return merged;
}

function renumbered(steps: Steps, sets: SetWords, { numberOf }: SetNumbers): Steps {
  return { ...steps, sets: steps.sets.map((set) => numberOf(wordOf(sets, set, 0), wordOf(sets, set, 1))) };
}

const NO_UPPER = new Uint16Array(0);

interface Held {
  /** Of the principals: the first `count`. */
  readonly runs: Int32Array;
  readonly count: number;
  /** What they hold together, if it was merged. */
  readonly merged: MergedSteps | null;
}

/** Whether one of the principals holds it. */
export function isHeldByAny(table: DecisionTable, { runs, count, merged }: Held, wanted: Wanted): boolean {
  if (merged !== null) {
    if (isHeldTogether(merged, HEAD, wanted)) return true;
    const windowed = windowedHead(merged, HEAD);
    if (windowed < 0 || !isHeldTogether(merged, windowed, wanted)) return false;
  }
  for (let i = 0; i < count; i += 1) if (isHeldBy(table, runs[i] ?? 0, wanted)) return true;
  return false;
}

function isHeldTogether(merged: MergedSteps, head: number, { place, scopes, word }: Wanted): boolean {
  const step = stepFor(merged, head, place);
  if (step === head) return false;
  const set = (merged[step] ?? 0) & LOW;
  const sets = merged[0] ?? 0;
  const bits = sets === 0 ? (word === 0 ? set : 0) : (merged[sets + 2 * set + word] ?? 0);
  return (bits & scopes) !== 0;
}
