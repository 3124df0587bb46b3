// What carries a call to a gateway and its answer back.

export interface Sent {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null if there is none. */
  readonly body: string | null;
  /** Whether it may be sent again when nobody knows what became of it. */
  readonly isRepeatable: boolean;
  readonly signal: AbortSignal | null;
}

export interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** Of `Retry-After`, in seconds; null if there is none. */
  readonly retryAfter: number | null;
}

export type Transport = (sent: Sent) => Promise<Answered>;

/** Bounds of what is sent again. */
export interface Retries {
  /** How often after the first time. */
  readonly most: number;
  /** Milliseconds: before the first repetition, twice as long before each other, and at most. */
  readonly first: number;
  readonly longest: number;
}

/** Statuses with which nothing was done: too early, or a gateway that is full, closing or without its store. */
const NOT_NOW: ReadonlySet<number> = new Set([429, 503]);

/**
 * Sends again what was refused for now or lost on the way, as long as that is safe. It waits as long as the gateway says, or else at
 * random within a bound that doubles, so that many clients do not come back together.
 */
export function repeating(transport: Transport, { most, first, longest }: Retries): Transport {
  return async (sent) => {
    for (let times = 0; ; times += 1) {
      const isLast = times >= most || !sent.isRepeatable;
      const answered = await attempt(transport, sent, isLast);
      if (answered !== null && (isLast || !NOT_NOW.has(answered.status))) return answered;
      const asked = answered?.retryAfter ?? null;
      // A longer wait than ours is passed on to the caller as an error.
      if (answered !== null && asked !== null && asked * 1000 > longest) return answered;
      const bound = Math.min(longest, first * 2 ** times);
      await wait(asked === null ? Math.random() * bound : asked * 1000 + Math.random() * first, sent.signal);
    }
  };
}

/** Null if the connection failed and it may be tried again. */
async function attempt(transport: Transport, sent: Sent, isLast: boolean): Promise<Answered | null> {
  try {
    return await transport(sent);
  } catch (error) {
    if (isLast || !isLost(error) || sent.signal?.aborted === true) throw error;
    return null;
  }
}

/** `fetch` rejects with a `TypeError` for whatever is wrong with a connection. */
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
      // Whatever a caller gave as the reason.
      reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted', { cause: signal?.reason }));
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
}
