// Rate limits of one gateway, counted by several processes. Each counts its own requests, and learns at an interval
// what the others have counted. So a limit holds for all of them together, except for requests that arrive within one
// interval.
import { makeRateLimiter, type RateLimiter } from '../http/rate-limit.js';

/** How many requests were let through, by limiter and name. */
export type Spending = readonly (readonly [limiter: string, name: string, requests: number])[];

export interface RateLedger {
  readonly makeLimiter: (limiter: string, quota: number) => RateLimiter;
  /** What was let through here since the last call. */
  readonly takeSpent: () => Spending;
  /** Counts what other processes let through. So many milliseconds of it are made up for already; by default none. */
  readonly charge: (spending: Spending, ago?: number) => void;
  /** What is not made up for yet. */
  readonly owed: () => Spending;
}

export function makeRateLedger(): RateLedger {
  const limiters = new Map<string, RateLimiter>();
  let spent = new Map<string, Map<string, number>>();
  return {
    makeLimiter: (limiter, quota) => {
      const own = makeRateLimiter(quota);
      if (quota === 0) return own;
      limiters.set(limiter, own);
      return {
        ...own,
        take: (name) => {
          const wait = own.take(name);
          if (wait > 0) return wait;
          const counts = spent.get(limiter) ?? new Map<string, number>();
          spent.set(limiter, counts.set(name, (counts.get(name) ?? 0) + 1));
          return 0;
        },
      };
    },
    takeSpent: () => {
      const all = [...spent].flatMap(([limiter, counts]) =>
        [...counts].map(([name, requests]) => [limiter, name, requests] as const),
      );
      spent = new Map();
      return all;
    },
    charge: (spending, ago = 0) => {
      for (const [limiter, name, requests] of spending) {
        const own = limiters.get(limiter);
        own?.charge(name, Math.max(0, requests - (own.quota * ago) / 1000));
      }
    },
    owed: () =>
      [...limiters].flatMap(([limiter, own]) =>
        [...own.owed()].map(([name, requests]) => [limiter, name, requests] as const),
      ),
  };
}
