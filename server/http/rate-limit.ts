// Token buckets by name (an address, an actor): a number of requests a second, with one second's worth in reserve.
// Memory is bounded: the name that has been quiet longest is forgotten first.
import { RATE_LIMITS } from '../limits/http.js';
import { ApiProblem, type LimitName } from '../problem.js';

export interface RateLimiter {
  /** Requests a second. */
  readonly quota: number;
  /** Counts one request. Returns 0 if it may go on, otherwise the whole seconds until the next one may. */
  readonly take: (name: string) => number;
  /** How many more requests may go on now. Counts nothing. */
  readonly left: (name: string) => number;
  /** Counts requests that another process let through, up to what one second's worth can make up for. */
  readonly charge: (name: string, requests: number) => void;
  /** How many requests each name has not made up for yet. */
  readonly owed: () => ReadonlyMap<string, number>;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** `quota` 0 means no limit. `now` is in milliseconds and never goes back. */
export function makeRateLimiter(quota: number, now: () => number = () => performance.now()): RateLimiter {
  if (quota === 0)
    return { quota, take: () => 0, left: () => Infinity, charge: () => undefined, owed: () => new Map() };
  const capacity = Math.max(1, quota);
  const buckets = new Map<string, Bucket>();
  const tokensOf = ({ tokens, filledAt }: Bucket, at: number): number =>
    Math.min(capacity, tokens + ((at - filledAt) / 1000) * quota);
  const bucketOf = (name: string): Bucket => {
    const at = now();
    const bucket = buckets.get(name) ?? { tokens: capacity, filledAt: at };
    bucket.tokens = tokensOf(bucket, at);
    bucket.filledAt = at;
    // Taken out and put back, so that the map's order is that of the last use.
    buckets.delete(name);
    buckets.set(name, bucket);
    if (buckets.size > RATE_LIMITS.buckets) forgetOldest(buckets);
    return bucket;
  };
  const waitFor = (tokens: number): number => (tokens < 1 ? Math.ceil((1 - tokens) / quota) : 0);
  return {
    quota,
    left: (name) => {
      const bucket = buckets.get(name);
      return bucket === undefined ? Math.floor(capacity) : Math.max(0, Math.floor(tokensOf(bucket, now())));
    },
    take: (name) => {
      const bucket = bucketOf(name);
      const wait = waitFor(bucket.tokens);
      if (wait === 0) bucket.tokens -= 1;
      return wait;
    },
    charge: (name, requests) => {
      const bucket = bucketOf(name);
      bucket.tokens = Math.max(bucket.tokens - requests, -capacity);
    },
    owed: () => {
      const at = now();
      const all = [...buckets].map(([name, bucket]) => [name, capacity - tokensOf(bucket, at)] as const);
      return new Map(all.filter(([, requests]) => requests > 0));
    },
  };
}

/** The refusal of a request that comes `wait` seconds too early. */
export function tooMany({ quota }: Pick<RateLimiter, 'quota'>, policy: LimitName, wait: number): ApiProblem {
  const headers = [
    'RateLimit-Policy',
    `"${policy}";q=${String(quota)};w=1`,
    'RateLimit',
    `"${policy}";r=0;t=${String(wait)}`,
  ];
  return new ApiProblem('limit.rate', { retryAfter: wait, headers, limit: policy });
}

function forgetOldest(buckets: Map<string, Bucket>): void {
  for (const name of buckets.keys()) {
    buckets.delete(name);
    return;
  }
}

/**
 * The name under which an address is counted. An IPv6 client owns its whole /64, an IPv4 client its address; a Unix
 * socket has no address.
 */
export function addressName(address: string | null): string {
  if (address === null) return 'none';
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (v4 !== undefined) return v4;
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const behind = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  return [...groups, ...Array<string>(zeros).fill('0'), ...behind].slice(0, 4).join(':');
}
