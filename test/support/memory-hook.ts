// Loaded into a gateway's process with --import and --expose-gc. When asked over the channel, it says how much memory
// the process holds after a garbage collection.
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

export interface Held {
  /** Of heap and buffers, in MiB. */
  readonly total: number;
  /** Bytes of each piece of memory that threads share. */
  readonly shared: readonly number[];
}

const MEBIBYTE = 2 ** 20;
/** Milliseconds for what is given back late. */
const SETTLING = 100;

if (isMainThread) {
  process.on('message', () => {
    void held().then((answer) => process.send?.(answer));
  });
  process.channel?.unref();
}

async function held(): Promise<Held> {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await sleep(SETTLING);
  }
  const { heapUsed, external } = process.memoryUsage();
  // Sizes are what it prints of them.
  const shared = queryObjects(SharedArrayBuffer, { format: 'summary' });
  return {
    total: (heapUsed + external) / MEBIBYTE,
    shared: shared.flatMap((text) => [...text.matchAll(/byteLength: (\d+)/g)].map(([, bytes]) => Number(bytes))),
  };
}
