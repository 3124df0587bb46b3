// Limits look-ups of credentials that have never been valid, by address. No more look-ups run at once than may still
// fail. So however many requests arrive together, no more look-ups fail than the limit allows, and valid credentials do
// not wait for long. Issuers of tokens may be slow or away. That is not the fault of the address: those who wait for an
// issuer leave room for other credentials, and what it cannot judge is no failure.
import { notJudged } from '../auth/authenticator.js';
import { SHARE_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { RequestAborted } from './message.js';
import { type RateLimiter, tooMany } from './rate-limit.js';

export interface Attempts {
  /**
   * Does the work when there is room for it to fail. The work counts its failure in `failures` itself. Rejects with
   * `limit.rate` (429) if there is no room, with `overloaded` or `auth.unavailable` (503) if it waits for too long, with
   * `RequestAborted` if the client leaves while it waits, or as the work does.
   */
  readonly attempt: <T>(address: string, client: Client, work: () => Promise<T>) => Promise<T>;
}

interface Client {
  readonly gone: AbortSignal;
  /** Who judges its credential, beside the store. */
  readonly issuer?: string | null;
}

interface UnderWay {
  count: number;
  /** How many of them each issuer judges, and the store (null). */
  readonly by: Map<string | null, number>;
  /** Wakes the requests that wait for a look-up to end. */
  readonly waiting: Set<() => void>;
}

interface AttemptLimits {
  readonly failures: RateLimiter;
  /** If an address has no failures left, a few of its credentials are still looked up. */
  readonly spare: RateLimiter;
  /** Credentials of an address that one issuer could not judge. */
  readonly unjudged: RateLimiter;
  /** How many milliseconds a request waits at most. */
  readonly patience?: number;
}

export function makeAttempts({ failures, spare, unjudged, patience = SHARE_LIMITS.patience }: AttemptLimits): Attempts {
  const addresses = new Map<string, UnderWay>();
  const mostOfIssuer = failures.quota === 0 ? Infinity : Math.max(1, failures.quota / 2);
  const enter = async (address: string, client: Client): Promise<UnderWay> => {
    const { issuer = null } = client;
    const until = performance.now() + patience;
    for (;;) {
      const here = addresses.get(address) ?? { count: 0, by: new Map<string | null, number>(), waiting: new Set() };
      const own = here.by.get(issuer) ?? 0;
      const left = issuer === null ? Infinity : unjudged.left(nameOf(address, issuer));
      const isHeld = issuer !== null && (own >= mostOfIssuer || left < own + 1);
      const hasRoom = !isHeld && failures.left(address) >= here.count + 1;
      if (!hasRoom && own > 0) {
        await nextEnd(here, client, until - performance.now());
        continue;
      }
      if (left < 1) throw notJudged('its issuer could not judge others of this address just now');
      const wait = hasRoom ? 0 : spare.take(address);
      if (wait > 0) throw tooMany(spare, 'unauthenticated', wait);
      here.count += 1;
      here.by.set(issuer, own + 1);
      addresses.set(address, here);
      return here;
    }
  };
  return {
    attempt: async (address, client, work) => {
      const here = await enter(address, client);
      const { issuer = null } = client;
      try {
        return await work();
      } catch (error) {
        const isUnjudged = error instanceof ApiProblem && error.code === 'auth.unavailable';
        if (issuer !== null && isUnjudged && error.detail.fault === undefined) unjudged.take(nameOf(address, issuer));
        throw error;
      } finally {
        here.count -= 1;
        here.by.set(issuer, (here.by.get(issuer) ?? 1) - 1);
        if (here.count === 0) addresses.delete(address);
        for (const wake of here.waiting) wake();
      }
    },
  };
}

function nameOf(address: string, issuer: string): string {
  return `${address}\n${issuer}`;
}

/** Waits until a look-up ends. Nothing is kept of a client that leaves meanwhile. */
function nextEnd({ waiting }: UnderWay, { gone, issuer = null }: Client, time: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      const reason = 'too many credentials of this address are being judged';
      reject(issuer === null ? new ApiProblem('overloaded', { retryAfter: 1, reason }) : notJudged(reason));
    }, time);
    const stop = (): void => {
      clearTimeout(timer);
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
