// Keeps the snapshots that decide beside the log, while the gateway runs. A disk that is full or does not answer holds
// no policy: what was not kept in time is kept later.
import { AUDIT_LIMITS } from '../limits/logs.js';
import { endsWithin } from '../lib/ends-within.js';
import type { Logger } from '../lib/ports.js';

type Keep = (digest: string, bytes: Uint8Array) => Promise<void>;

export interface SnapshotKeeper {
  /** Resolves when it is kept, or when the log says that it is not kept yet. Never rejects. */
  readonly keep: Keep;
  /** Nothing is tried again. Resolves to whether all that was begun has ended. */
  readonly close: () => Promise<boolean>;
}

export function keepSnapshots(write: Keep, log: Logger): SnapshotKeeper {
  let last = Promise.resolve();
  let isClosed = false;
  /** One after the other: a disk that does not answer takes one of the few threads that files have. */
  const tryToKeep = (snapshot: string, bytes: Uint8Array, tries = 1): Promise<void> => {
    const attempt = last.then(async () => {
      try {
        await write(snapshot, bytes);
        if (tries > 1) log.info({ snapshot }, 'the snapshot is kept beside the audit log now');
      } catch (error) {
        if (tries === 1) log.error({ snapshot, error }, UNKEPT);
        if (!isClosed) setTimeout(() => void tryToKeep(snapshot, bytes, tries + 1), AUDIT_LIMITS.retryDelay).unref();
      }
    });
    last = attempt;
    return attempt;
  };
  return {
    keep: async (snapshot, bytes) => {
      if (!(await endsWithin(tryToKeep(snapshot, bytes), AUDIT_LIMITS.writePatience))) log.error({ snapshot }, LATE);
    },
    close: () => {
      isClosed = true;
      return endsWithin(last, AUDIT_LIMITS.writePatience);
    },
  };
}

const UNKEPT =
  'a snapshot could not be kept beside the audit log and decides all the same: it is tried again until it is kept';
const LATE = 'the disk has not taken a snapshot for the audit log yet, and it decides all the same';
