// What the worker thread and the thread that owns it say to each other.
import type { StoreErrorCode } from '../store-error.js';

export interface WorkerInput {
  readonly dataDir: string;
  readonly socketPath: string;
  readonly lockFile: string;
  /** Milliseconds a client may idle inside a transaction. */
  readonly idleLimit: number;
  /** One 64-bit integer: when (process.hrtime) the statement that runs now has run for too long; 0 for none. */
  readonly runaway: SharedArrayBuffer;
}

export type WorkerMessage =
  | { readonly kind: 'ready'; /** Whether a commit reaches the disk. */ readonly durable: boolean }
  | { readonly kind: 'refused'; readonly code: StoreErrorCode; readonly message: string }
  | { readonly kind: 'broken'; readonly message: string };

/** The one order: finish, close the store, and end. */
export type WorkerOrder = 'close';
