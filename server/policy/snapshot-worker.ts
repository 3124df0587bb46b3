// The thread that opens or loads a policy, checks its labels or compares it with another, while the gateway's own
// thread goes on serving. It takes one message, sends one, and ends.
import { parentPort } from 'node:worker_threads';
import { loadSnapshot, packSnapshot, verifyDecisions } from '../../engine/index.js';
import { openBytes, type OpenedBytes } from './open-bytes.js';
import type { NotRead, ReadResult } from './open-policy.js';
import { faultOfRead } from './policy-fault.js';
import { toShared } from './shared-bytes.js';
import { readSnapshotFile } from './snapshot-file.js';
import type { SnapshotTask } from './snapshot-thread.js';
import type { Content } from './sources/source.js';
import { unwrap } from './unwrap.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task);
  if (task.kind === 'compare') return (await import('./compare-snapshots.js')).compareSnapshots(task);
  if (task.kind === 'unwrap') return unwrap(task.parts);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  const loaded = loadSnapshot(task.bytes);
  return loaded.ok ? verifyDecisions(loaded.policy) : loaded.fault;
}

async function open({ content, signed }: Extract<SnapshotTask, { kind: 'open' }>): Promise<OpenedBytes> {
  const bytes = await bytesOf(content);
  if ('kind' in bytes) return { kind: 'refused', fault: faultOfRead(bytes) };
  const opened = openBytes(bytes, { digest: content.kind === 'folder' ? undefined : content.digest, signed });
  return opened.kind === 'opened' ? { ...opened, bytes: toShared(opened.bytes) } : opened;
}

async function bytesOf(content: Content): Promise<Uint8Array | NotRead> {
  if (content.kind === 'parts') return Buffer.concat(content.parts);
  const read = await (content.kind === 'folder' ? compile(content.path) : readSnapshotFile(content.path));
  return read.kind === 'read' ? read.bytes : read;
}

/** Loaded only when needed: loading the compiler takes longer than opening a snapshot, which does not need it. */
async function compile(folder: string): Promise<ReadResult> {
  const { compileFolder } = await import('./open-policy.js');
  return compileFolder(folder, 'serve');
}

/** The buffers that only the answer holds; they are transferred instead of copied. */
function givenAway(answer: unknown): readonly ArrayBuffer[] {
  return typeof answer === 'object' && answer !== null && 'parts' in answer && Array.isArray(answer.parts)
    ? answer.parts.flatMap((part: unknown) =>
        part instanceof Uint8Array && part.buffer instanceof ArrayBuffer ? [part.buffer] : [],
      )
    : [];
}

parentPort?.once('message', (task: SnapshotTask) => {
  void perform(task).then((answer) => {
    parentPort?.postMessage(answer, givenAway(answer));
  });
});
