// Work on the bytes of a snapshot in a thread of its own, a fresh one each time, so that what it used is given back whole.
import { Worker } from 'node:worker_threads';
import { adopt, type LoadResult, type PackResult, type SnapshotFault } from '../../engine/index.js';

export interface SnapshotTask {
  readonly kind: 'pack' | 'labels';
  readonly bytes: Uint8Array;
}

/** As `loadSnapshot`; this thread only takes the finished table over. */
export function loadInThread(bytes: Uint8Array): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    start({ kind: 'pack', bytes }, reject).once('message', (result: PackResult) => {
      resolve(result.ok ? { ok: true, policy: adopt(result.packed) } : result);
    });
  });
}

/** As `verifyDecisions`, of the policy in these bytes. Does not keep the process alive. */
export function verifyInThread(bytes: Uint8Array): Promise<SnapshotFault | null> {
  return new Promise((resolve, reject) => {
    const worker = start({ kind: 'labels', bytes }, reject);
    worker.unref();
    worker.once('message', (fault: SnapshotFault | null) => {
      resolve(fault);
    });
  });
}

function start(task: SnapshotTask, fail: (error: Error) => void): Worker {
  const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url));
  worker.once('error', fail);
  // Too late to fail once there was an answer.
  worker.once('exit', () => {
    fail(new Error('the thread ended before it had an answer'));
  });
  worker.postMessage(task);
  return worker;
}
