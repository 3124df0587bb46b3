// Carries a call to a gateway and its answer back.
import { problemIn } from './errors.js';

export interface Sent {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null if there is none. */
  readonly body: string | null;
  /** Whether it may be repeated if nobody knows what became of it. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | null;
}

export interface Received {
  readonly status: number;
  /** A header by its name in lower case; null if there is none. */
  readonly header: (name: string) => string | null;
  readonly text: string;
  /** The value of `Retry-After` in seconds; null if there is none. */
  readonly retryAfter: number | null;
}

export type Transport = (sent: Sent) => Promise<Received>;

/** Bounds for repeating requests. */
export interface Retries {
  /** How many repetitions after the first attempt. */
  readonly most: number;
  /** Milliseconds before the first repetition, which double for each further one, and the longest wait. */
  readonly first: number;
  readonly longest: number;
}

/** The request came too early, or the gateway is full, closing or without its store. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 503]);

/**
 * Also if the gateway still does what was lost on the way, or does not know whether it was done: a repetition gets the
 * answer.
 */
function isForNow(status: number, text: string): boolean {
  return (
    NOT_NOW.has(status) ||
    (status === 409 && problemIn(text)?.code === 'idempotency.in_progress') ||
    (status === 504 && problemIn(text)?.outcome === 'unknown')
  );
}

/**
 * Repeats requests that were refused for now or lost on the way, as long as that is safe. It waits as long as the
 * gateway says. Otherwise it waits a random time within a bound that doubles, so that many clients do not come back
 * together.
 */
export function repeating(transport: Transport, { most, first, longest }: Retries): Transport {
  return async (sent) => {
    for (let times = 0; ; times += 1) {
      const isLast = times >= most || !sent.isRepeatable;
      const answered = await attempt(transport, sent, isLast);
      if (answered !== null && (isLast || !isForNow(answered.status, answered.text))) return answered;
      const asked = answered?.retryAfter ?? null;
      // If the gateway asks for a longer wait than ours, the caller gets the error.
      if (answered !== null && asked !== null && asked * 1000 > longest) return answered;
      const bound = Math.min(longest, first * 2 ** times);
      await wait(asked === null ? Math.random() * bound : asked * 1000 + Math.random() * first, sent.signal);
    }
  };
}

/** Null if the connection failed and the request may be repeated. */
async function attempt(transport: Transport, sent: Sent, isLast: boolean): Promise<Received | null> {
  try {
    return await transport(sent);
  } catch (error) {
    if (isLast || !isLost(error) || sent.signal?.aborted === true) throw error;
    return null;
  }
}

/** `fetch` rejects with a `TypeError` for any fault of a connection. */
function isLost(error: unknown): boolean {
  return typeof error === 'object' && error !== null && Reflect.get(error, 'name') === 'TypeError';
}

async function wait(milliseconds: number, signal: AbortSignal | null): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const done = (): void => {
      signal?.removeEventListener('abort', stop);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    const stop = (): void => {
      clearTimeout(timer);
      // The caller may have given any value as the reason.
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason }));
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
