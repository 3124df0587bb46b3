// Limits look-ups of credentials that have never been valid, by address. No more look-ups run at once than may still
// fail. So however many requests arrive together, no more look-ups fail than the limit allows, and valid credentials do
// not wait for long.
import { type RateLimiter, tooMany } from './rate-limit.js';

export interface Attempts {
  /**
   * Does the work when there is room for it to fail. The work counts its failure in `failures` itself. Rejects with
   * `limit.rate` (429) if there is no room, or as the work does.
   */
  readonly attempt: <T>(address: string, work: () => Promise<T>) => Promise<T>;
}

interface UnderWay {
  count: number;
  /** Wakes the requests that wait for a look-up to end. */
  waiting: (() => void)[];
}

/** If an address has no failures left, `spare` still lets a few of its credentials be looked up. */
export function makeAttempts({ failures, spare }: { failures: RateLimiter; spare: RateLimiter }): Attempts {
  const addresses = new Map<string, UnderWay>();
  const enter = async (address: string): Promise<UnderWay> => {
    for (;;) {
      const here = addresses.get(address) ?? { count: 0, waiting: [] };
      const hasRoom = failures.left(address) >= here.count + 1;
      if (!hasRoom && here.count > 0) {
        await new Promise<void>((resolve) => here.waiting.push(resolve));
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
    attempt: async (address, work) => {
      const here = await enter(address);
      try {
        return await work();
      } finally {
        here.count -= 1;
        if (here.count === 0) addresses.delete(address);
        for (const wake of here.waiting.splice(0)) wake();
      }
    },
  };
}
