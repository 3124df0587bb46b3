// The time that a check may take. A schema comes from a user, and so does the value: whatever was estimated beforehand,
// the clock is read while the check goes on.

/** A check takes longer than may be waited for. */
export class TooSlow extends Error {
  override readonly name = 'TooSlow';
}

export interface Clock {
  /** Begins anew, with so many milliseconds, and so many for what is foreseen. */
  readonly start: (milliseconds: number, foreseen: number) => void;
  /** Called at each small step. Throws `TooSlow` if the time is up. */
  readonly tick: () => void;
  /** Called before a step that may take so many milliseconds. Throws `TooSlow` if fewer are left. */
  readonly foresee: (milliseconds: number) => void;
}

/** Reading the clock takes as long as a few steps. */
const STEPS = 16;

export function makeClock(): Clock {
  /** On the monotonic clock. */
  const until = { now: Infinity, foreseen: Infinity };
  let steps = 0;
  return {
    start: (milliseconds, foreseen) => {
      const now = performance.now();
      until.now = now + milliseconds;
      until.foreseen = now + foreseen;
    },
    tick: () => {
      steps = (steps + 1) % STEPS;
      if (steps === 0 && performance.now() > until.now) throw new TooSlow();
    },
    foresee: (milliseconds) => {
      if (performance.now() + milliseconds > until.foreseen) throw new TooSlow();
    },
  };
}
