// The thread that loads a snapshot, or works its labels out, while the gateway's own thread goes on serving: one message in, one out,
// and it ends.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import type { SnapshotTask } from './snapshot-thread.js';

function perform({ kind, bytes }: SnapshotTask): unknown {
  if (kind === 'pack') return packSnapshot(bytes);
  const loaded = loadSnapshot(bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

parentPort?.once('message', (task: SnapshotTask) => parentPort?.postMessage(perform(task)));
