// Work on the bytes of a snapshot in a thread of its own, a fresh one each time, so that what it used is given back whole.
import { Worker } from 'node:worker_threads';
import { adopt, type LoadResult, type PackResult, type SnapshotFault } from '../../engine/index.js';

export interface SnapshotTask {
  readonly kind: 'pack' | 'labels';
  readonly bytes: Uint8Array;
}

/** As `loadSnapshot`; this thread only takes the finished table over. */
export async function loadInThread(bytes: Uint8Array): Promise<LoadResult> {
  const result = (await perform({ kind: 'pack', bytes })) as PackResult;
  return result.ok ? { ok: true, policy: adopt(result.packed) } : result;
}

/** As `verifyDecisions`, of the policy in these bytes. Does not keep the process alive. */
export async function verifyInThread(bytes: Uint8Array): Promise<SnapshotFault | null> {
  return (await perform({ kind: 'labels', bytes })) as SnapshotFault | null;
}

function perform(task: SnapshotTask): Promise<unknown> {
  const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url), { workerData: task });
  if (task.kind === 'labels') worker.unref();
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => {
      reject(new Error('the thread ended before it had an answer'));
    });
  });
}
