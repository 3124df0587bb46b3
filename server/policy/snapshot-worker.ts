// The thread that opens or loads a policy, or works its labels out, while the gateway's own thread goes on serving: one message in,
// one out, and it ends.
import { stat } from 'node:fs/promises';
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import type { OpenedThere, SnapshotTask } from './snapshot-thread.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task.path);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  const loaded = loadSnapshot(task.bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

async function open(path: string): Promise<OpenedThere> {
  const [{ readPolicyAt, sha256Of }, { faultOfRead, faultOfSnapshot, oneLine }] = await Promise.all([
    import('./open-policy.js'),
    import('./policy-fault.js'),
  ]);
  // Nobody may ever write to a pipe, and whoever waits for it would look at nothing else.
  const facts = await stat(path).catch(() => null);
  if (facts !== null && !facts.isFile() && !facts.isDirectory()) {
    return { kind: 'refused', fault: oneLine('source.unreadable', 'the path is neither a file nor a folder') };
  }
  const read = await readPolicyAt(path, 'serve');
  if (read.kind !== 'read') return { kind: 'refused', fault: faultOfRead(read) };
  const { bytes, source } = read;
  const packed = packSnapshot(bytes);
  if (!packed.ok) return { kind: 'refused', fault: faultOfSnapshot(packed.fault, sha256Of(bytes)) };
  return { kind: 'opened', packed: packed.packed, bytes, source: source === 'folder' ? 'folder' : 'file' };
}

parentPort?.once('message', (task: SnapshotTask) => {
  void perform(task).then((answer) => parentPort?.postMessage(answer));
});
