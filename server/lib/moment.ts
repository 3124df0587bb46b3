// A moment by two clocks, for what must be noticed even if the machine was asleep in between.

/** Milliseconds of two clocks: one stops while the machine sleeps, the other can be set. */
export interface Moment {
  readonly tick: number;
  readonly time: number;
}

export function momentNow(): Moment {
  return { tick: performance.now(), time: Date.now() };
}

/** Milliseconds between two moments, by whichever clock has advanced further. */
export function elapsedBetween(from: Moment, to: Moment): number {
  return Math.max(to.tick - from.tick, to.time - from.time);
}

/** From this reading of the monotonic clock until now, to a tenth, for people. */
export function secondsSince(tick: number): number {
  return Math.round((performance.now() - tick) / 100) / 10;
}
