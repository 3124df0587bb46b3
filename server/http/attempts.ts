// Limits look-ups of credentials that have never been valid, by address. No more look-ups run at once than may still
// fail. So however many requests arrive together, no more look-ups fail than the limit allows, and valid credentials do
// not wait for long.
import { RequestAborted } from './message.js';
import { type RateLimiter, tooMany } from './rate-limit.js';

export interface Attempts {
  /**
   * Does the work when there is room for it to fail. The work counts its failure in `failures` itself. Rejects with
   * `limit.rate` (429) if there is no room, with `RequestAborted` if the client leaves while it waits, or as the work
   * does.
   */
  readonly attempt: <T>(address: string, client: Client, work: () => Promise<T>) => Promise<T>;
}

interface Client {
  readonly gone: AbortSignal;
}

interface UnderWay {
  count: number;
  /** Wakes the requests that wait for a look-up to end. */
  readonly waiting: Set<() => void>;
}

/** If an address has no failures left, `spare` still lets a few of its credentials be looked up. */
export function makeAttempts({ failures, spare }: { failures: RateLimiter; spare: RateLimiter }): Attempts {
  const addresses = new Map<string, UnderWay>();
  const enter = async (address: string, client: Client): Promise<UnderWay> => {
    for (;;) {
      const here = addresses.get(address) ?? { count: 0, waiting: new Set() };
      const hasRoom = failures.left(address) >= here.count + 1;
      if (!hasRoom && here.count > 0) {
        await nextEnd(here, client);
        continue;
      }
      const wait = hasRoom ? 0 : spare.take(address);
      if (wait > 0) throw tooMany(spare, 'unauthenticated', wait);
      here.count += 1;
      addresses.set(address, here);
      return here;
    }
  };
  return {
    attempt: async (address, client, work) => {
      const here = await enter(address, client);
      try {
        return await work();
      } finally {
        here.count -= 1;
        if (here.count === 0) addresses.delete(address);
        for (const wake of here.waiting) wake();
      }
    },
  };
}

/** Waits until a look-up ends. Nothing is kept of a client that leaves meanwhile. */
function nextEnd({ waiting }: UnderWay, { gone }: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      gone.removeEventListener('abort', leave);
      waiting.delete(wake);
    };
    const wake = (): void => {
      stop();
      resolve();
    };
    const leave = (): void => {
      stop();
      reject(new RequestAborted());
    };
    waiting.add(wake);
    gone.addEventListener('abort', leave);
    if (gone.aborted) leave();
  });
}
