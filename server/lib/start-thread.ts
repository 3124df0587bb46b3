// Threads of the gateway. Each reads its code from the disk when it starts.
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { assertSameVersion } from './version.js';

export function startThread(script: URL, options: WorkerOptions = {}): Worker {
  assertSameVersion();
  return new Worker(script, options);
}
