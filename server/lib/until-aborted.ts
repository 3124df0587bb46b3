// Waiting that ends with a signal, for whoever waits: what was waited for goes on by itself.
import { signalWithin } from './either-signal.js';

/** As the work ends, or with the signal's reason once that is aborted. */
export function untilAborted<Done>(work: Promise<Done>, signal: AbortSignal): Promise<Done> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal.reason }));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', onAbort);
    });
  });
}

/** Does work whose signal is aborted once the client is gone and, with what `late` returns, after so many milliseconds. */
export async function inTime<Done>(
  work: (signal: AbortSignal) => Promise<Done>,
  { gone, time, late }: { readonly gone: AbortSignal; readonly time: number; readonly late: () => Error },
): Promise<Done> {
  const { signal, release } = signalWithin(time, gone, late);
  try {
    return await work(signal);
  } catch (error) {
    // What the signal ended says only that it has ended, unless something may be stored all the same.
    if (!(error instanceof Error && 'isInDoubt' in error && error.isInDoubt === true)) signal.throwIfAborted();
    throw error;
  } finally {
    release();
  }
}
