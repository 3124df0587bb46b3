// How long the answers about an actor stay as they are, so that a caller that asks again and again need not compute them
// each time.
import type { Instant, Window } from '../model/instant.js';
import { GRANT, WINDOWED } from '../table/columns.js';
import { firstEntry, listEnd } from '../table/judge.js';
import { UNRESTRICTED } from './policy.js';
import { askerOf, type ResolvedActor } from './resolve-actor.js';

/** The time around `at` in which no grant of the actor begins or ends: every answer about it is then the same. */
export function steadyAs(actor: ResolvedActor, at: Instant): Window {
  const { ground, runs, count } = askerOf(actor);
  let [from, until] = [-Infinity, Infinity];
  if (ground === UNRESTRICTED) return { from, until };
  const { list, windowFrom, windowUntil } = ground;
  for (const run of runs.subarray(0, count)) {
    const end = listEnd(ground.runs, run);
    for (let entry = firstEntry(ground, run, 0); entry < end; entry += 1) {
      if (((list[GRANT.words * entry + GRANT.end] ?? 0) & WINDOWED) === 0) continue;
      const window = list[GRANT.words * entry + GRANT.row] ?? 0;
      for (const instant of [windowFrom[window] ?? 0, windowUntil[window] ?? 0]) {
        if (instant <= at) from = Math.max(from, instant);
        else until = Math.min(until, instant);
      }
    }
  }
  return { from, until };
}
