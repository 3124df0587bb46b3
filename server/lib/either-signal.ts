// One signal for two.

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
