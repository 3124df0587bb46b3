// Looking at something from time to time, and at once when asked: one look at a time, whatever takes how long.

export interface Watch {
  /** Looks now, and resolves when that is done. */
  readonly hurry: () => Promise<void>;
  readonly stop: () => void;
}

/** `look` must not reject. Does not keep the process alive. */
export function watchEvery(milliseconds: number, look: (why: 'poll' | 'hurry') => Promise<void>): Watch {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  const next = (why: 'poll' | 'hurry'): Promise<void> => {
    waiting += 1;
    last = last.then(() => look(why)).finally(() => (waiting -= 1));
    return last;
  };
  const timer = setInterval(() => {
    // Where a look takes longer than the interval, the next one waits for its turn of the clock.
    if (waiting === 0) void next('poll');
  }, milliseconds);
  timer.unref();
  return {
    hurry: () => next('hurry'),
    stop: () => {
      clearInterval(timer);
    },
  };
}
