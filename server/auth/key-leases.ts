// What a gateway remembers of keys, so that a key in use takes no trip to the store. A key that was right is believed
// for `KEY_LIMITS.lease` milliseconds from the moment before the store was asked for it. A revocation is answered
// only when that much time has passed since its COMMIT: whatever was read before the revocation has ended by then, on
// every gateway, also on one that hears nothing. So no request that begins after the answer is served. The
// announcement of a revocation only makes gateways ask again at once.
//
// Only whoever brings the secret is answered from memory. Wrong secrets and unknown ids always take the trip, so the
// time of a refusal does not tell which keys are in use.
import type { Database } from '../db/database.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { elapsedBetween, type Moment, momentNow } from '../lib/moment.js';
import type { Logger } from '../lib/ports.js';
import type { StoredKey } from './api-keys.js';
import { hashMatches } from './key-text.js';
import { REVOCATIONS_CHANNEL } from './revocation-news.js';

/** A moment before the store is asked. */
interface Asked extends Moment {
  /** How often revocations had been announced. */
  readonly news: number;
}

export interface Leased {
  readonly key: StoredKey;
  /** Whether the lease ends soon. True once: whoever gets it asks the store again. */
  readonly isAging: boolean;
}

export interface KeyLeases {
  readonly moment: () => Asked;
  /** The key, if this is its secret and it may be believed without asking the store. */
  readonly find: (id: string, secretHash: Uint8Array) => Leased | null;
  /**
   * The same, for when the store cannot be asked: if the key was right within `KEY_LIMITS.recalled`, and nothing was
   * heard of its revocation. Only for what changes nothing and shows no record.
   */
  readonly recall: (id: string, secretHash: Uint8Array) => StoredKey | null;
  /** The key was right when the store was asked, after this moment. */
  readonly keep: (key: StoredKey, asked: Asked) => void;
  /** The store has no such key any more, or it is revoked. */
  readonly forget: (id: string) => void;
  readonly close: () => Promise<void>;
}

export interface KeyLeasesOptions {
  readonly db: Pick<Database, 'listen'>;
  readonly log: Logger;
  readonly clocks?: () => Moment;
}

interface Lease {
  readonly key: StoredKey;
  readonly asked: Asked;
  isRenewing: boolean;
}

export function makeKeyLeases({ db, log, clocks = momentNow }: KeyLeasesOptions): KeyLeases {
  const leases = makeLruCache<Lease>(KEY_LIMITS.leased, KEY_LIMITS.proven);
  let news = 0;
  /** Begins with the first key that is kept. */
  let listening: ReturnType<Database['listen']> | null = null;
  const listen = async (): Promise<void> => {
    listening = db.listen(REVOCATIONS_CHANNEL, (id) => {
      news += 1;
      if (id !== null) leases.forget(id);
    });
    const { failure: error } = await listening;
    if (error === null) return;
    log.warn(
      { error },
      'the store sends no notifications of revocations yet: a revoked key is refused when its lease has ended',
    );
  };
  /** Forever, if a clock was set back. */
  const ageOf = (asked: Moment): number => {
    const now = clocks();
    return now.time < asked.time ? Infinity : elapsedBetween(asked, now);
  };
  return {
    moment: () => ({ ...clocks(), news }),
    find: (id, secretHash) => {
      const lease = leases.get(id);
      if (lease === undefined || lease.asked.news !== news) return null;
      const age = ageOf(lease.asked);
      if (age >= KEY_LIMITS.lease || !hashMatches(secretHash, lease.key.secretHash)) return null;
      const isAging = !lease.isRenewing && age >= KEY_LIMITS.lease / 2;
      if (isAging) lease.isRenewing = true;
      return { key: lease.key, isAging };
    },
    recall: (id, secretHash) => {
      const lease = leases.get(id);
      if (lease === undefined || ageOf(lease.asked) >= KEY_LIMITS.recalled) return null;
      return hashMatches(secretHash, lease.key.secretHash) ? lease.key : null;
    },
    keep: (key, asked) => {
      if (listening === null) void listen();
      // Somebody may have revoked it since.
      if (asked.news === news) leases.put(key.id, { key, asked, isRenewing: false }, sizeOf(key));
    },
    forget: leases.forget,
    close: async () => {
      await (await listening)?.close();
    },
  };
}

/** About how many characters it takes. */
function sizeOf({ identities, restrictions }: StoredKey): number {
  const paths = (restrictions ?? []).reduce((sum, path) => sum + path.length, 0);
  return 500 + paths + identities.reduce((sum, { provider, subject }) => sum + provider.length + subject.length, 0);
}
