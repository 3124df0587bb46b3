// Credentials that were never right, by address: no more of them are looked up at once than may still fail. So however many arrive
// together, as many look-ups are in vain as the limit allows, and those that are right do not wait for long.
import { type RateLimiter, tooMany } from './rate-limit.js';

export interface Attempts {
  /**
   * Does the work when there is room for its failure, which the work itself counts in `failures`. Rejects with `limit.rate` (429)
   * where there is none, or as the work does.
   */
  readonly attempt: <T>(address: string, work: () => Promise<T>) => Promise<T>;
}

interface UnderWay {
  count: number;
  /** Those who wait for one of them to end. */
  waiting: (() => void)[];
}

/** `spare` is asked of an address that has no failures left: a few of its credentials are still looked up. */
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
