// The thread that opens or loads a policy, checks its labels or compares it with another, while the gateway's own
// thread goes on serving. It takes one message, sends one, and ends.
import { parentPort } from 'node:worker_threads';
import { packSnapshot, verifySnapshot } from '../../../engine/index.js';
import { parseStrictJson } from '../../json/strict-json.js';
import { HTTP_LIMITS } from '../../limits/http.js';
import type { FolderMemory } from './check-policy.js';
import { faultOfRefusal, pathRefused, refusal } from '../policy-fault.js';
import { digestMeant, packBytes, readSnapshotFile, toShared } from './snapshot-bytes.js';
import { findTable, type FoundTable, writeTable } from './table-file.js';
import type { OpenedBytes, Said, SnapshotTask, Unwrapped } from './snapshot-thread.js';
import type { Content } from '../sources/source.js';

async function perform(task: SnapshotTask): Promise<unknown> {
  if (task.kind === 'open') return open(task);
  if (task.kind === 'compare') return (await import('./compare-snapshots.js')).compareSnapshots(task);
  if (task.kind === 'unwrap') return unwrap(task.parts);
  if (task.kind === 'compile') return compile(task.folder);
  if (task.kind === 'pack') return packSnapshot(task.bytes);
  if (task.kind === 'find table') return findTable(task);
  if (task.kind === 'write table') return writeTable(task.folder, task.packed, task.kept);
  return verifySnapshot(task.bytes);
}

async function open({ content, signed, hasTables }: Extract<SnapshotTask, { kind: 'open' }>): Promise<OpenedBytes> {
  if (content.kind === 'folder') return compile(content.path);
  const read = await bytesOf(content);
  const digest = digestMeant(read, { digest: content.digest, signed });
  const found = hasTables ? await askForTable(digest) : ABSENT;
  const [packed, table] =
    found.kind === 'opened' ? [found.packed, { kind: 'opened' } as const] : [packBytes(read, digest), found];
  return { packed, bytes: toShared(read), table, labels: 'unverified' };
}

/** Whoever gave the task finds the table, with a thread of its own: a disk that does not answer holds none but that. */
function askForTable(wanted: string): Promise<FoundTable> {
  return new Promise((resolve) => {
    parentPort?.once('message', resolve);
    parentPort?.postMessage({ wanted } satisfies Said<never>);
  });
}

let memory: FolderMemory | null = null;

async function compile(folder: string): Promise<OpenedBytes> {
  // Loaded only when needed: loading the compiler takes longer than opening a snapshot, which does not need it.
  const { compileToServe } = await import('./open-policy.js');
  const compiled = await compileToServe(folder, memory);
  memory = compiled.memory;
  const { packed, bytes, isRead } = compiled;
  // What was compiled just now states what was computed just now. Its bytes are still to be read, if nobody has.
  return { packed, bytes: toShared(bytes), table: ABSENT, labels: isRead ? 'verified' : 'unverified' };
}

const ABSENT = Object.freeze({ kind: 'absent' });

async function bytesOf(content: Exclude<Content, { kind: 'folder' }>): Promise<Uint8Array> {
  if (content.kind === 'parts') return Buffer.concat(content.parts);
  const read = await readSnapshotFile(content.path);
  if (read.kind === 'read') return read.bytes;
  throw read.kind === 'path'
    ? pathRefused(read.fault)
    : refusal('snapshot.too_large', 'the file is larger than any snapshot may be');
}

/** Takes `{"snapshot":"…","statement":{…}}` apart into the snapshot's bytes and the statement as it was signed. */
function unwrap(parts: readonly Uint8Array[]): Unwrapped {
  const read = parseStrictJson(Buffer.concat(parts), { depth: HTTP_LIMITS.jsonDepth });
  if (!read.ok) throw refusal(read.fault.code, `the body is not plain JSON: ${read.fault.message}`);
  const members = new Map<string, unknown>(
    typeof read.value === 'object' && read.value !== null ? Object.entries(read.value) : [],
  );
  const [snapshot, statement] = [members.get('snapshot'), members.get('statement')];
  if (members.size !== 2 || typeof snapshot !== 'string' || typeof statement !== 'object' || statement === null) {
    throw refusal(
      'request.schema',
      'beside `snapshot`, the text of the file, there must be `statement`, its signed statement, and nothing else',
    );
  }
  return { parts: [new TextEncoder().encode(snapshot)], statement: JSON.stringify(statement) };
}

/** The buffers that only the answer holds; they are transferred instead of copied. */
function givenAway(answer: unknown): readonly ArrayBuffer[] {
  return typeof answer === 'object' && answer !== null && 'parts' in answer && Array.isArray(answer.parts)
    ? answer.parts.flatMap((part: unknown) =>
        part instanceof Uint8Array && part.buffer instanceof ArrayBuffer ? [part.buffer] : [],
      )
    : [];
}

function listen(): void {
  parentPort?.once('message', (task: SnapshotTask) => {
    void perform(task)
      .then(
        (answer): Said<unknown> => ({ answer }),
        (error: unknown) => ({ fault: faultOfRefusal(error) }),
      )
      .then((message) => {
        parentPort?.postMessage(message, 'answer' in message ? givenAway(message.answer) : []);
        if (task.kind === 'compile') listen();
      });
  });
}

listen();
