// Token buckets by name (an address, an actor): so many requests a second, with a second's worth in hand. Memory is bounded:
// the name that has been quiet longest is forgotten first.
import { RATE_LIMITS } from '../limits.js';

export interface RateLimiter {
  /** Requests a second. */
  readonly quota: number;
  /** Counts one request: 0 if it may go on, else the whole seconds after which the next may. */
  readonly take: (name: string) => number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** `quota` 0 is no limit. `now` is in milliseconds and never goes back. */
export function makeRateLimiter(quota: number, now: () => number = () => performance.now()): RateLimiter {
  if (quota === 0) return { quota, take: () => 0 };
  const capacity = Math.max(1, quota);
  const buckets = new Map<string, Bucket>();
  return {
    quota,
    take: (name) => {
      const at = now();
      const bucket = buckets.get(name) ?? { tokens: capacity, filledAt: at };
      bucket.tokens = Math.min(capacity, bucket.tokens + ((at - bucket.filledAt) / 1000) * quota);
      bucket.filledAt = at;
      // Taken out and put back, so that the map's order is that of the last use.
      buckets.delete(name);
      buckets.set(name, bucket);
      if (buckets.size > RATE_LIMITS.buckets) forgetOldest(buckets);
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / quota);
      bucket.tokens -= 1;
      return 0;
    },
  };
}

function forgetOldest(buckets: Map<string, Bucket>): void {
  for (const name of buckets.keys()) {
    buckets.delete(name);
    return;
  }
}

/** The name that an address is counted under: an IPv6 client owns its whole /64, an IPv4 one its address. */
export function addressName(address: string | undefined): string {
  if (address === undefined) return 'gone';
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (v4 !== undefined) return v4;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  return [...groups, ...Array<string>(zeros).fill('0'), ...behind].slice(0, 4).join(':');
}
