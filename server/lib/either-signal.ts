// One signal for two, or for one and a time.

export interface EitherSignal {
  readonly signal: AbortSignal;
  /** Lets go of both. */
  readonly release: () => void;
}

/**
 * A signal that is aborted with the first of two, and for its reason. Call `release` when the work is over:
 * `AbortSignal.any` leaves something of each call in a signal that lives on (Node 20).
 */
export function eitherSignal(one: AbortSignal, other: AbortSignal): EitherSignal {
  const either = new AbortController();
  const stop = (): void => {
    either.abort(one.aborted ? one.reason : other.reason);
  };
  if (one.aborted || other.aborted) stop();
  one.addEventListener('abort', stop);
  other.addEventListener('abort', stop);
  return {
    signal: either.signal,
    release: () => {
      one.removeEventListener('abort', stop);
      other.removeEventListener('abort', stop);
    },
  };
}

/**
 * A signal that is aborted with another one or, with what `late` returns, after so many milliseconds. Call `release` when
 * the work is over. `AbortSignal.timeout` is no use behind `AbortSignal.any`: Node 20 forgets it when it collects garbage.
 */
export function signalWithin(
  milliseconds: number,
  other: AbortSignal,
  late = (): Error => new Error('it took too long'),
): EitherSignal {
  const deadline = new AbortController();
  const timer = setTimeout(() => {
    deadline.abort(late());
  }, milliseconds);
  const { signal, release } = eitherSignal(other, deadline.signal);
  return {
    signal,
    release: () => {
      clearTimeout(timer);
      release();
    },
  };
}
