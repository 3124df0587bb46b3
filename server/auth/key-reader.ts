// Looks up keys for requests. Requests that arrive while a look-up is under way share the next one. No request is
// answered from what was read before it came, so every process refuses a key from the moment it is revoked. While a
// look-up does not end, others are begun beside it, each after twice the time. So a lost connection holds nobody up,
// and a busy store gets only a few queries.
import type { Database } from '../db/database.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import { findKeys, type FoundKeys, type StoredKey } from './api-keys.js';

/** The key as it is stored now; null if there is none. Rejects with the store's error. */
export type KeyReader = (id: string) => Promise<StoredKey | null>;

interface LookUp {
  readonly ids: Set<string>;
  readonly found: Promise<FoundKeys>;
}

export function makeKeyReader(db: Pick<Database, 'vital'>): KeyReader {
  /** The look-up that has not begun yet. Later callers join it. */
  let next: LookUp | null = null;
  /** Settles when the look-up under way has ended, or has kept others waiting for too long. */
  let turn: Promise<unknown> = Promise.resolve();
  let patience: number = KEY_LIMITS.lookUpPatience;

  const begin = (ids: ReadonlySet<string>): Promise<FoundKeys> => {
    // From here on, callers join a look-up that begins later.
    next = null;
    const found = findKeys(db, [...ids]);
    let isOver = false;
    const ended = found.then(
      () => {
        isOver = true;
        patience = KEY_LIMITS.lookUpPatience;
      },
      () => undefined,
    );
    const late = pause(patience).then(() => {
      if (!isOver) patience = Math.min(2 * patience, KEY_LIMITS.longestLookUpPatience);
    });
    turn = Promise.race([ended, late]);
    return found;
  };

  return async (id) => {
    if (next === null) {
      const ids = new Set<string>();
      next = { ids, found: turn.then(() => begin(ids)) };
    }
    next.ids.add(id);
    return (await next.found)(id);
  };
}

function pause(time: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, time).unref();
  });
}
