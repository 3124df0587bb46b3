// A thread that fails while nobody waits for it.
import { expect } from '@jest/globals';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';

/** Has the thread that answers first fail once it is idle. Resolves when a warning has said so. */
export async function failIdle(ask: () => Promise<unknown>): Promise<void> {
  const [started] = await Promise.all([once(process, 'worker'), ask()]);
  const [worker] = started as [Worker];
  const warned = once(process, 'warning');
  // What no thread is given: it ends with an error.
  worker.postMessage(null);
  expect(await warned).toMatchObject([
    { code: 'BAILIWICK_THREAD', message: expect.stringContaining('has failed and will be started again') },
  ]);
}
