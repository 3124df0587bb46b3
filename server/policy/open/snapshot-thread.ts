// Works on policies on a thread, a new one each time, so that all its memory is returned. A snapshot so small that it
// is opened before a thread would start is opened here.
import { Worker } from 'node:worker_threads';
import {
  adopt,
  type LoadResult,
  type PackedPolicy,
  type PackResult,
  type Policy,
  type SnapshotFault,
} from '../../../engine/index.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import type { Compared, Sides } from './compare-snapshots.js';
import { type PolicyFault, PolicyRefused } from '../policy-fault.js';
import { openBytes } from './snapshot-bytes.js';
import type { Content } from '../sources/source.js';
import type { TableShelf, TableUse, WrittenTable } from './table-file.js';

export type SnapshotTask =
  | { readonly kind: 'pack' | 'labels'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'open';
      readonly content: Content;
      readonly signed: string | null;
      readonly shelf: TableShelf | null;
    }
  | ({ readonly kind: 'write table' } & TableToWrite)
  | ({ readonly kind: 'compare' } & Sides)
  | { readonly kind: 'unwrap'; readonly parts: readonly Uint8Array<ArrayBuffer>[] };

export interface OpenedBytes {
  readonly packed: PackedPolicy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly table: TableUse;
}

export interface TableToWrite {
  readonly folder: string;
  readonly packed: PackedPolicy;
  /** The digests of the other snapshots whose tables stay. */
  readonly kept: readonly string[];
}

export interface Unwrapped {
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly statement: string;
}

/** What the thread sends: an error keeps its class no longer there. */
export type Answered<Answer> = { readonly answer: Answer } | { readonly fault: PolicyFault };

/** Like `loadSnapshot`, but this thread only takes over the finished table. */
export async function loadInThread(bytes: Uint8Array): Promise<LoadResult> {
  const result = await perform<PackResult>({ kind: 'pack', bytes }, 'awaited');
  return result.ok ? { ok: true, policy: adopt(result.packed) } : result;
}

/** What opening needs of the tables that are kept. */
export interface TableFinder {
  /** Where to look for tables, and what the store says about them. Rejects if the store fails. */
  readonly shelf: () => Promise<TableShelf>;
  /** Called with a policy that was opened, and with how its table was found. */
  readonly note: (policy: Policy, found: TableUse) => void;
}

export interface OpenOptions {
  /** The digest of the snapshot that a statement is about; null if no signature is required. */
  readonly signed: string | null;
  /** Tables that may save deriving one. Null if none are kept. */
  readonly tables: TableFinder | null;
  readonly signal: AbortSignal;
}

/**
 * Opens an offer to serve it. A folder is checked and compiled on the thread, too. Throws `PolicyRefused`; rejects once
 * `signal` is aborted, and if the store fails, which has the hashes of the tables.
 */
export async function openBeside(
  content: Content,
  { signed, tables, signal }: OpenOptions,
): Promise<{ readonly policy: Policy; readonly bytes: Uint8Array }> {
  signal.throwIfAborted();
  if (isSmall(content)) {
    const { packed, bytes } = openBytes(Buffer.concat(content.parts), { digest: content.digest, signed });
    return { policy: adopt(packed), bytes };
  }
  const shelf = (await tables?.shelf()) ?? null;
  const { packed, bytes, table } = await perform<OpenedBytes>(
    { kind: 'open', content, signed, shelf },
    'awaited',
    signal,
  );
  const policy = adopt(packed);
  tables?.note(policy, table);
  return { policy, bytes };
}

/** Rejects with a system error, and once `signal` is aborted. Does not keep the process alive. */
export function writeTableInThread(table: TableToWrite, signal: AbortSignal): Promise<WrittenTable> {
  return perform<WrittenTable>({ kind: 'write table', ...table }, 'beside', signal);
}

function isSmall(content: Content): content is Extract<Content, { kind: 'parts' }> {
  if (content.kind !== 'parts') return false;
  return content.parts.reduce((bytes, part) => bytes + part.length, 0) <= POLICY_LIMITS.smallBytes;
}

/**
 * Like `verifyDecisions`, for the policy in these bytes, which are copied unless they are in shared memory. Rejects
 * once `signal` is aborted. Does not keep the process alive.
 */
export function verifyInThread(bytes: Uint8Array, signal?: AbortSignal): Promise<SnapshotFault | null> {
  return perform<SnapshotFault | null>({ kind: 'labels', bytes }, 'beside', signal);
}

/**
 * All cells that differ between two snapshots. Their parts are transferred. Rejects once `signal` is aborted. Does not
 * keep the process alive.
 */
export function compareInThread(sides: Sides, signal: AbortSignal): Promise<Compared> {
  return perform<Compared>({ kind: 'compare', ...sides }, 'beside', signal);
}

/**
 * Separates a snapshot from the statement that came with it. The parts are transferred. Throws `PolicyRefused`; rejects
 * once `signal` is aborted.
 */
export function unwrapInThread(parts: readonly Uint8Array<ArrayBuffer>[], signal: AbortSignal): Promise<Unwrapped> {
  return perform<Unwrapped>({ kind: 'unwrap', parts }, 'beside', signal);
}

/** The worker answers each kind of task with the one type that its caller names (snapshot-worker.ts). */
function perform<Answer>(task: SnapshotTask, how: 'awaited' | 'beside', signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const worker = new Worker(new URL('./snapshot-worker.js', import.meta.url));
    worker.once('error', reject);
    // After an answer, this rejection has no effect.
    worker.once('exit', () => {
      reject(new Error('the thread ended before it had an answer'));
    });
    worker.once('message', (message: Answered<Answer>) => {
      if ('answer' in message) resolve(message.answer);
      else reject(new PolicyRefused(message.fault));
    });
    // This comes last, because listening for messages keeps the process alive.
    if (how === 'beside') worker.unref();
    const end = (): void => void worker.terminate();
    signal?.addEventListener('abort', end, { once: true });
    worker.once('exit', () => signal?.removeEventListener('abort', end));
    worker.postMessage(
      task,
      partsOf(task).map(({ buffer }) => buffer),
    );
  });
}

/** The parts that are transferred to the thread. */
function partsOf(task: SnapshotTask): readonly Uint8Array<ArrayBuffer>[] {
  if (task.kind === 'compare') return [...task.old.parts, ...task.changed.parts];
  if (task.kind === 'unwrap') return task.parts;
  return task.kind === 'open' && task.content.kind === 'parts' ? task.content.parts : [];
}
