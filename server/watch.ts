// Looks at something from time to time, and at once when asked. There is only one look at a time, however long it
// takes.

export interface Watch {
  /** Looks now, and resolves when that is done. */
  readonly hurry: () => Promise<void>;
  /** Stops looking, and resolves when the present look has ended. */
  readonly stop: () => Promise<void>;
}

/** `look` must not reject, and should end soon once `signal` is aborted. Does not keep the process alive. */
export function watchEvery(
  milliseconds: number,
  look: (why: 'poll' | 'hurry', signal: AbortSignal) => Promise<void>,
): Watch {
  const stopped = new AbortController();
  const { signal } = stopped;
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  const next = (why: 'poll' | 'hurry'): Promise<void> => {
    waiting += 1;
    last = last.then(() => (signal.aborted ? undefined : look(why, signal))).finally(() => (waiting -= 1));
    return last;
  };
  const timer = setInterval(() => {
    // If a look takes longer than the interval, the next one waits for the next tick.
    if (waiting === 0) void next('poll');
  }, milliseconds);
  timer.unref();
  return {
    hurry: () => next('hurry'),
    stop: () => {
      clearInterval(timer);
      stopped.abort();
      return last;
    },
  };
}
