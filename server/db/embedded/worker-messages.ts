// What the worker thread and the thread that owns it say to each other.
import type { StoreErrorCode } from '../store-error.js';

export interface WorkerInput {
  readonly dataDir: string;
  readonly socketPath: string;
  readonly lockFile: string;
  readonly lockToken: string;
  /** Milliseconds a client may idle inside a transaction. */
  readonly idleLimit: number;
}

export type WorkerMessage =
  | { readonly kind: 'ready'; /** Whether a commit reaches the disk. */ readonly durable: boolean }
  | { readonly kind: 'refused'; readonly code: StoreErrorCode; readonly message: string }
  | { readonly kind: 'broken'; readonly message: string };

export interface WorkerOrder {
  readonly kind: 'close';
}
