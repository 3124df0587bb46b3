// The thread that opens or loads a policy, or works its labels out, while the gateway's own thread goes on serving: one message in,
// one out, and it ends.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import type { Content } from './sources/source.js';
import type { OpenedThere, SnapshotTask } from './snapshot-thread.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task.content);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  const loaded = loadSnapshot(task.bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

async function open({ kind, path }: Content): Promise<OpenedThere> {
  const [{ readPolicyAt, sha256Of }, { faultOfRead, faultOfSnapshot, oneLine }] = await Promise.all([
    import('./open-policy.js'),
    import('./policy-fault.js'),
  ]);
  const read = await readPolicyAt(path, 'serve');
  if (read.kind !== 'read') return { kind: 'refused', fault: faultOfRead(read) };
  const { bytes, source } = read;
  // What took its place meanwhile is the next offer.
  if (source !== kind)
    return { kind: 'refused', fault: oneLine('source.unreadable', `the path is not a ${kind} any more`) };
  const packed = packSnapshot(bytes);
  if (!packed.ok) return { kind: 'refused', fault: faultOfSnapshot(packed.fault, sha256Of(bytes)) };
  return { kind: 'opened', packed: packed.packed, bytes };
}

parentPort?.once('message', (task: SnapshotTask) => {
  void perform(task).then((answer) => parentPort?.postMessage(answer));
});
