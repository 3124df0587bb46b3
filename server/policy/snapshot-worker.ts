// The thread that opens or loads a policy, or works its labels out, while the gateway's own thread goes on serving: one message in,
// one out, and it ends.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import type { NotRead } from './open-policy.js';
import type { OpenedThere, SnapshotTask } from './snapshot-thread.js';
import type { Content } from './sources/source.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  const loaded = loadSnapshot(task.bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

async function open({ content, signed }: Extract<SnapshotTask, { kind: 'open' }>): Promise<OpenedThere> {
  const [{ sha256Of }, { faultOfRead, faultOfSnapshot, oneLine }] = await Promise.all([
    import('./open-policy.js'),
    import('./policy-fault.js'),
  ]);
  const bytes = await bytesOf(content);
  if ('kind' in bytes) return { kind: 'refused', fault: faultOfRead(bytes) };
  const digest = sha256Of(bytes);
  if (content.kind !== 'folder' && (content.digest ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('snapshot.digest', `its bytes are another snapshot (${digest})`) };
  }
  if ((signed ?? digest) !== digest) {
    return { kind: 'refused', fault: oneLine('statement.subject', 'the statement is about another snapshot') };
  }
  const packed = packSnapshot(bytes);
  if (!packed.ok) return { kind: 'refused', fault: faultOfSnapshot(packed.fault, digest) };
  return { kind: 'opened', packed: packed.packed, bytes };
}

async function bytesOf(content: Content): Promise<Uint8Array | NotRead> {
  if (content.kind === 'parts') return Buffer.concat(content.parts);
  const { compileFolder, readSnapshotFile } = await import('./open-policy.js');
  const { kind, path } = content;
  const read = await (kind === 'folder' ? compileFolder(path, 'serve') : readSnapshotFile(path));
  return read.kind === 'read' ? read.bytes : read;
}

parentPort?.once('message', (task: SnapshotTask) => {
  void perform(task).then((answer) => {
    parentPort?.postMessage(answer);
  });
});
