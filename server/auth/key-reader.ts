// Looks keys up for requests. Those that arrive in one turn of the event loop share a statement; none is answered from what was
// read before it came, so a key that was revoked is refused from that moment on, by every process.
import type { Database } from '../db/database.js';
import { findKeys, type FoundKeys, type StoredKey } from './api-keys.js';

/** The key as it is stored now; null if there is none. Rejects with the store's error. */
export type KeyReader = (id: string) => Promise<StoredKey | null>;

export function makeKeyReader(db: Database): KeyReader {
  let asked: Set<string> | null = null;
  let reading: Promise<FoundKeys> | null = null;

  const begin = (): Promise<FoundKeys> => {
    const ids = new Set<string>();
    asked = ids;
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        // Whoever asks from here on needs a statement that begins later.
        asked = null;
        reading = null;
        findKeys(db, [...ids]).then(resolve, reject);
      });
    });
  };

  return async (id) => {
    reading ??= begin();
    asked?.add(id);
    return (await reading)(id);
  };
}
