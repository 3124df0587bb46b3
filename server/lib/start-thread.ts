// Threads of the gateway. Each reads its code from the disk when it starts.
import { basename } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { assertSameVersion } from './version.js';

/** `onEnd` is called once the thread answers nothing more: it has failed, or it has ended. */
export function startThread(script: URL, options: WorkerOptions = {}, onEnd = (): void => undefined): Worker {
  assertSameVersion();
  const worker = new Worker(script, options);
  worker.on('error', ({ message }) => {
    onEnd();
    // Whoever waits for an answer listens, too. An error to which nobody listens would end the process.
    if (worker.listenerCount('error') > 1) return;
    process.emitWarning(
      `a thread (${basename(script.pathname)}) has failed and will be started again when it is needed: ${message}`,
      { code: 'BAILIWICK_THREAD' },
    );
  });
  worker.once('exit', onEnd);
  return worker;
}
