// Looks for SHA-1 collisions in a thread, because that takes 0.4 seconds for each MiB.
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../lib/start-thread.js';

export interface CollisionCheck {
  /** Whether what is hashed is half of a collision. The bytes must be in shared memory, and nobody may write to them. */
  readonly isCollision: (header: string, bytes: Buffer) => Promise<boolean>;
  readonly end: () => void;
}

export interface CollisionTask {
  readonly header: string;
  readonly bytes: Uint8Array;
}

/** One question at a time. Rejects once the signal is aborted. The thread is started with the first. */
export function makeCollisionCheck(signal: AbortSignal): CollisionCheck {
  let running: Worker | null = null;
  const start = (): Worker => {
    const worker: Worker = startThread(new URL('./sha1-worker.js', import.meta.url), {}, () => {
      if (running === worker) running = null;
    });
    return worker;
  };
  return {
    isCollision: async (header, bytes) => {
      const worker = (running ??= start());
      const answered = once(worker, 'message', { signal });
      worker.postMessage({ header, bytes } satisfies CollisionTask);
      const answer: unknown = (await answered)[0];
      return answer !== false;
    },
    end: () => void running?.terminate(),
  };
}
