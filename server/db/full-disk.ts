// Whether the disk of the store is full. Reading does not notice that, and neither does a small write where a page has
// room. So the failure of a write is remembered until the store can take up new room again. The gateway finds out by
// itself: while it is not ready, a load balancer sends it no writes.
import { POOL_LIMITS } from '../limits/store.js';
import { type StoreError, toStoreError } from './failures.js';
import type { StoreReader } from './prepared.js';
import { sql } from './sql.js';

export interface FullDisk {
  /** Remembers the error, if it says that the disk is full. */
  readonly hear: (error: unknown) => void;
  /** Rejects with that failure until there is room, and no write has failed for a while. */
  readonly assertRoom: () => Promise<void>;
}

/** `onFull` is called when the disk is found to be full, and not again before there was room. */
export function watchDisk(vital: StoreReader, onFull: (failure: StoreError) => void = () => undefined): FullDisk {
  let full: StoreError | null = null;
  let at = 0;
  const hear = (error: unknown): void => {
    const failure = toStoreError(error);
    if (failure?.code !== 'store.full') return;
    const isNews = full === null;
    full = failure;
    at = performance.now();
    if (isNews) onFull(failure);
  };
  return {
    hear,
    assertRoom: async () => {
      // Others may ask at the same time, and the first answer ends the fault.
      const failure = full;
      if (failure === null) return;
      await vital(TAKING_ROOM).catch((error: unknown) => {
        hear(error);
        throw error;
      });
      if (performance.now() - at < POOL_LIMITS.fullDiskQuiet) throw failure;
      full = null;
    },
  };
}

/**
 * Half a megabyte that does not fit into `work_mem`, so it goes to a temporary file beside the tables. That needs no right,
 * and leaves nothing behind.
 */
const TAKING_ROOM = sql`SELECT count(*) FROM generate_series(1, (
  SELECT length(set_config('work_mem', ${'64kB'}::text, true) || set_config('temp_tablespaces', '', true)) * 10000))`;
