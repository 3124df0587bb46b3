// What several principals hold together, as one pair of step functions. For an actor that is kept, one search then
// answers for all of them.
import type { DecisionTable } from './columns.js';
import { isHeldBy, mayBeHeld, type Wanted } from './judge.js';
import { putSteps, scopesAt, stepsEnd, unionOfSteps, windowedHead } from './steps.js';

/** In the form of `runs` (steps.ts). */
export type MergedSteps = Int32Array;

/**
 * The most words that are kept for one actor, which are 4 KiB. Many actors are kept, so an actor with more is judged
 * principal by principal.
 */
const MOST = 1024;

/** Null if there is nothing to merge, or too much. */
export function mergeSteps({ runs }: DecisionTable, held: Int32Array): MergedSteps | null {
  let count = 0;
  for (const run of held) count += stepsEnd(runs, run + 1) - run - 1;
  if (count === 0 || count > MOST) return null;
  let always: number[] = [];
  let windowed: number[] = [];
  for (const run of held) {
    const second = windowedHead(runs, run + 1);
    const end = stepsEnd(runs, run + 1);
    always = unionOfSteps(always, runs.subarray(run + 2, second < 0 ? end : second));
    if (second >= 0) windowed = unionOfSteps(windowed, runs.subarray(second + 1, end));
  }
  const merged = new Int32Array(count);
  return merged.slice(0, putSteps(merged, 0, { always, windowed }));
}

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
    if ((scopesAt(merged, 0, wanted.place) & wanted.scopes) !== 0) return true;
    if (!mayBeHeld(merged, 0, wanted)) return false;
  }
  for (let i = 0; i < count; i += 1) if (isHeldBy(table, runs[i] ?? 0, wanted)) return true;
  return false;
}
