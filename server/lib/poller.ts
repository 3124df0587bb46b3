// Checks something at an interval, and at once on request. Only one check runs at a time, however long it
// takes, and only one that waits, however often somebody asks for it.
import { setTimeout as sleep } from 'node:timers/promises';

/** `news`: somebody says that there is something new, and nobody knows whether that is true. */
export type LookReason = 'poll' | 'news' | 'now';

export interface Poller {
  /** Looks now, and resolves when that is done. Whoever asks before the look has begun shares it. */
  readonly pollNow: () => Promise<void>;
  /** Stops looking, and resolves when the present look has ended. */
  readonly stop: () => Promise<void>;
}

export interface NotifiedPoller extends Poller {
  /** Looks soon. However much news there is, looks for it keep a distance. */
  readonly notify: () => void;
}

/** The pause after a check for news, in milliseconds. */
const DISTANCE = 50;

interface Waiting {
  why: LookReason;
  readonly done: Promise<void>;
}

/** `look` must not reject, and should end soon once `signal` is aborted. Does not keep the process alive. */
export function makePoller(
  milliseconds: number,
  look: (why: LookReason, signal: AbortSignal) => Promise<void>,
): NotifiedPoller {
  const stopped = new AbortController();
  const { signal } = stopped;
  let last: Promise<void> = Promise.resolve();
  let isLooking = false;
  let waiting: Waiting | null = null;
  const begin = async (): Promise<LookReason> => {
    const why = waiting?.why ?? 'poll';
    waiting = null;
    isLooking = true;
    try {
      if (!signal.aborted) await look(why, signal);
    } finally {
      isLooking = false;
    }
    return why;
  };
  const next = (why: LookReason): Promise<void> => {
    if (waiting !== null) {
      if (why === 'now') waiting.why = why;
      return waiting.done;
    }
    const begun = last.then(begin);
    waiting = { why, done: begun.then(() => undefined) };
    last = begun.then((reason) => (reason === 'news' ? rest(signal) : undefined));
    return waiting.done;
  };
  const timer = setInterval(() => {
    // If a look takes longer than the interval, the next one waits for the next tick.
    if (!isLooking) void next('poll');
  }, milliseconds);
  timer.unref();
  return {
    pollNow: () => next('now'),
    notify: () => void next('news'),
    stop: () => {
      clearInterval(timer);
      stopped.abort();
      return last;
    },
  };
}

function rest(signal: AbortSignal): Promise<void> {
  return sleep(DISTANCE, undefined, { signal, ref: false }).catch(() => undefined);
}
