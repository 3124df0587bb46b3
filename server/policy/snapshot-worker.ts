// The thread that opens or loads a policy, or works its labels out, while the gateway's own thread goes on serving: one message in,
// one out, and it ends.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import type { OpenedThere, SnapshotTask } from './snapshot-thread.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  const loaded = loadSnapshot(task.bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

async function open({ content, signed }: Extract<SnapshotTask, { kind: 'open' }>): Promise<OpenedThere> {
  const [{ compileFolder, readSnapshotFile, sha256Of }, { faultOfRead, faultOfSnapshot, oneLine }] = await Promise.all([
    import('./open-policy.js'),
    import('./policy-fault.js'),
  ]);
  const { kind, path } = content;
  const read = await (kind === 'folder' ? compileFolder(path, 'serve') : readSnapshotFile(path));
  if (read.kind !== 'read') return { kind: 'refused', fault: faultOfRead(read) };
  const { bytes } = read;
  const digest = sha256Of(bytes);
  if (kind === 'file' && (content.digest ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('snapshot.digest', `its bytes are another snapshot (${digest})`) };
  }
  if ((signed ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('statement.subject', 'the statement is about another snapshot') };
  }
  const packed = packSnapshot(bytes);
  if (!packed.ok) return { kind: 'refused', fault: faultOfSnapshot(packed.fault, digest) };
  return { kind: 'opened', packed: packed.packed, bytes };
}

parentPort?.once('message', (task: SnapshotTask) => {
  void perform(task).then((answer) => parentPort?.postMessage(answer));
});
