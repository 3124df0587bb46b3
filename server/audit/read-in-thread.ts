// Reads the logs of a folder for admins, on a thread of its own: a long log keeps no request waiting. One after the
// other, each within a bounded time that includes its wait. Whoever has left waits no longer.
import { AUDIT_LIMITS } from '../limits/logs.js';
import { oneAtATime } from '../lib/one-at-a-time.js';
import { startThread } from '../lib/start-thread.js';
import { inTime } from '../lib/until-aborted.js';
import { ApiProblem } from '../problem.js';
import type { Search, SearchReport } from './search.js';
import type { NamedHead, VerifyReport } from './verify.js';

export type LogQuestion =
  | { readonly kind: 'search'; readonly folder: string; readonly search: Search; readonly most: number }
  | { readonly kind: 'verify'; readonly folder: string; readonly known: readonly NamedHead[] };

/** The newest events that were found, newest first, as the JSON text of a list: it is handed on as it is. */
export interface NewestFound extends SearchReport {
  readonly newest: string;
}

export interface LogReader {
  readonly search: (search: Search, most: number, gone: AbortSignal) => Promise<NewestFound>;
  readonly verify: (known: readonly NamedHead[], gone: AbortSignal) => Promise<VerifyReport>;
}

/** Throws `audit.unreadable`, and `overloaded` if too many wait. */
export function makeLogReader(folder: string): LogReader {
  const inTurn = oneAtATime(AUDIT_LIMITS.readingWaiting, () => new ApiProblem('overloaded', { retryAfter: 1 }));
  const ask = <Answer>(question: LogQuestion, gone: AbortSignal): Promise<Answer> =>
    inTime((signal) => inTurn(() => read<Answer>(question, signal), signal), {
      gone,
      time: AUDIT_LIMITS.readingTime,
      late: () => unreadable(new Error('reading the log takes too long, with what was asked before')),
    });
  return {
    search: (search, most, gone) => ask({ kind: 'search', folder, search, most }, gone),
    verify: (known, gone) => ask({ kind: 'verify', folder, known }, gone),
  };
}

/** The thread answers each kind of question with the one type that its caller names (log-worker.ts). */
function read<Answer>(question: LogQuestion, gone: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    gone.throwIfAborted();
    const worker = startThread(new URL('./log-worker.js', import.meta.url));
    const end = (cause: unknown): void => {
      reject(unreadable(cause));
      void worker.terminate();
    };
    const onGone = (): void => {
      end(gone.reason);
    };
    gone.addEventListener('abort', onGone, { once: true });
    worker.once('message', resolve);
    worker.once('error', end);
    worker.once('exit', () => {
      gone.removeEventListener('abort', onGone);
      // After an answer, this rejection has no effect.
      end(new Error('the thread ended before it had an answer'));
    });
    // Listening for messages keeps the process alive, so this comes after it.
    worker.unref();
    worker.postMessage(question);
  });
}

function unreadable(cause: unknown): ApiProblem {
  return new ApiProblem('audit.unreadable', { retryAfter: 1, cause });
}
