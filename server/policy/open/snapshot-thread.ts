// Works on policies on a thread, a new one each time, so that all its memory is returned; only a folder that is followed
// has one that stays while it is being edited. A snapshot with which it is done before a thread would start is opened
// and checked here.
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import {
  adopt,
  ENGINE_LIMITS,
  type LoadResult,
  type PackedPolicy,
  packSnapshot,
  type PackResult,
  type Policy,
  type SnapshotFault,
  verifySnapshot,
} from '../../../engine/index.js';
import { startThread } from '../../lib/start-thread.js';
import { untilAborted } from '../../lib/until-aborted.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import type { Labels } from '../active/active-policy.js';
import type { Compared, Sides } from './compare-snapshots.js';
import { type PolicyFault, PolicyRefused } from '../policy-fault.js';
import { digestMeant } from './snapshot-bytes.js';
import type { Content } from '../sources/source.js';
import type { FoundTable, TableToFind, TableUse, WrittenTable } from './table-file.js';

export type SnapshotTask =
  | { readonly kind: 'pack' | 'labels'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'open';
      readonly content: Content;
      readonly signed: string | null;
      readonly hasTables: boolean;
    }
  /** The thread stays. */
  | { readonly kind: 'compile'; readonly folder: string }
  | ({ readonly kind: 'find table' } & TableToFind)
  | ({ readonly kind: 'write table' } & TableToWrite)
  | ({ readonly kind: 'compare' } & Sides)
  | { readonly kind: 'unwrap'; readonly parts: readonly Uint8Array<ArrayBuffer>[] };

export interface OpenedBytes {
  readonly packed: PackedPolicy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly table: TableUse;
  readonly labels: Labels;
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

/** What the thread sends at its end: an error keeps its class no longer there. */
type Answered<Answer> = { readonly answer: Answer } | { readonly fault: PolicyFault };

/** What the thread sends. It may first want the table of the snapshot with this digest. */
export type Said<Answer> = Answered<Answer> | { readonly wanted: string };

/** What is done here. Any other snapshot is refused after little work, and then left to a thread. */
const SMALL = { ...ENGINE_LIMITS, ...POLICY_LIMITS.small };

/** Like `loadSnapshot`, but of a snapshot that is not small this thread only takes over the finished table. */
export async function loadInThread(bytes: Uint8Array): Promise<LoadResult> {
  const here = packSnapshot(bytes, SMALL);
  const result = here.ok ? here : await perform<PackResult>({ kind: 'pack', bytes }, 'awaited');
  return result.ok ? { ok: true, policy: adopt(result.packed) } : result;
}

/** What opening needs of the tables that are kept. */
export interface TableFinder {
  /** Finds the table of the snapshot with this digest. Waits for no disk for long. Rejects if the store fails. */
  readonly find: (digest: string, signal: AbortSignal) => Promise<FoundTable>;
  /** Called with a policy that was opened, and with how its table was found. */
  readonly note: (policy: Policy, found: TableUse) => void;
}

export interface OpenOptions {
  /** The digest of the snapshot that a statement is about; null if no signature is required. */
  readonly signed: string | null;
  /** Tables that may save deriving one. Null if none are kept. */
  readonly tables: TableFinder | null;
  /** Compiles folders. Null if no folder is compiled again. */
  readonly folders?: FolderThread | null;
  readonly signal: AbortSignal;
}

/** A thread that compiles the versions of one folder, and remembers what it has read. */
export interface FolderThread {
  /** Throws `PolicyRefused`; rejects once `signal` is aborted. */
  readonly compile: (folder: string, signal: AbortSignal) => Promise<OpenedBytes>;
  readonly close: () => void;
}

/** Milliseconds after the last change of a folder for which its thread stays. */
const REMEMBERED = 15 * 60 * 1000;

export function makeFolderThread(remembered: number = REMEMBERED): FolderThread {
  let kept: { readonly worker: Worker; readonly timer: NodeJS.Timeout } | null = null;
  const close = (): void => {
    if (kept === null) return;
    clearTimeout(kept.timer);
    void kept.worker.terminate();
    kept = null;
  };
  const start = (): Worker => {
    const worker = newWorker(() => {
      if (kept?.worker === worker) close();
    });
    return worker;
  };
  return {
    compile: async (folder, signal) => {
      const worker = kept?.worker ?? start();
      clearTimeout(kept?.timer);
      // Whatever ends the thread ends what it remembers, too.
      kept = null;
      const keep = (): void => {
        worker.unref();
        kept = { worker, timer: setTimeout(close, remembered).unref() };
      };
      try {
        const compiled = await ask<OpenedBytes>(
          worker,
          { kind: 'compile', folder },
          { how: 'awaited', signal, tables: null },
        );
        keep();
        return compiled;
      } catch (error) {
        if (error instanceof PolicyRefused) keep();
        throw error;
      }
    },
    close,
  };
}

/**
 * Opens an offer to serve it. A folder is checked and compiled on the thread, too. Throws `PolicyRefused`; rejects once
 * `signal` is aborted, and if the store fails, which has the hashes of the tables.
 */
export async function openBeside(
  content: Content,
  { signed, tables, folders, signal }: OpenOptions,
): Promise<Pick<OpenedBytes, 'bytes' | 'labels'> & { readonly policy: Policy }> {
  signal.throwIfAborted();
  if (isSmall(content)) {
    const bytes = Buffer.concat(content.parts);
    digestMeant(bytes, { digest: content.digest, signed });
    const here = packSnapshot(bytes, SMALL);
    if (here.ok) return { policy: adopt(here.packed), bytes, labels: 'unverified' };
  }
  const { packed, bytes, table, labels } =
    content.kind === 'folder' && folders
      ? await folders.compile(content.path, signal)
      : await perform<OpenedBytes>(
          { kind: 'open', content, signed, hasTables: tables !== null },
          'awaited',
          signal,
          tables,
        );
  const policy = adopt(packed);
  tables?.note(policy, table);
  return { policy, bytes, labels };
}

/** Does not keep the process alive. */
export function findTableInThread(table: TableToFind): Promise<FoundTable> {
  return perform<FoundTable>({ kind: 'find table', ...table }, 'beside');
}

/** Rejects with a system error, and once `signal` is aborted. Does not keep the process alive. */
export function writeTableInThread(table: TableToWrite, signal: AbortSignal): Promise<WrittenTable> {
  return perform<WrittenTable>({ kind: 'write table', ...table }, 'beside', signal);
}

function isSmall(content: Content): content is Extract<Content, { kind: 'parts' }> {
  if (content.kind !== 'parts') return false;
  return content.parts.reduce((bytes, part) => bytes + part.length, 0) <= POLICY_LIMITS.small.snapshotBytes;
}

/**
 * Like `verifySnapshot`. Bytes that are not checked here are copied unless they are in shared memory. Rejects once
 * `signal` is aborted. Does not keep the process alive.
 */
export async function verifyInThread(bytes: Uint8Array, signal?: AbortSignal): Promise<SnapshotFault | null> {
  if (verifySnapshot(bytes, SMALL) === null) return null;
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
function perform<Answer>(
  task: SnapshotTask,
  how: Asked['how'],
  signal: AbortSignal = new AbortController().signal,
  tables: TableFinder | null = null,
): Promise<Answer> {
  signal.throwIfAborted();
  return ask(newWorker(), task, { how, signal, tables });
}

function newWorker(onEnd?: () => void): Worker {
  return startThread(new URL('./snapshot-worker.js', import.meta.url), {}, onEnd);
}

interface Asked {
  readonly how: 'awaited' | 'beside';
  readonly signal: AbortSignal;
  /** Null if the thread wants none. */
  readonly tables: TableFinder | null;
}

async function ask<Answer>(worker: Worker, task: SnapshotTask, { how, signal, tables }: Asked): Promise<Answer> {
  const answered = new AbortController();
  const until = { signal: answered.signal };
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = once(worker, 'exit', until).then(() => {
      throw new Error('the thread ended before it had an answer');
    });
    const answer = new Promise<Answered<Answer>>((resolve, reject) => {
      const hear = (said: Said<Answer>): void => {
        if (!('wanted' in said)) resolve(said);
        else
          tables?.find(said.wanted, signal).then(
            (found) => {
              worker.postMessage(found);
            },
            (error: unknown) => {
              end();
              reject(error instanceof Error ? error : new Error(String(error)));
            },
          );
      };
      worker.on('message', hear);
      until.signal.addEventListener('abort', () => worker.off('message', hear));
    });
    // This comes last, because listening for messages keeps the process alive.
    if (how === 'beside') worker.unref();
    else worker.ref();
    worker.postMessage(
      task,
      partsOf(task).map(({ buffer }) => buffer),
    );
    // A thread that reads from a disk that does not answer cannot be ended.
    const message = await untilAborted(Promise.race([answer, ended]), signal);
    if ('fault' in message) throw new PolicyRefused(message.fault);
    return message.answer;
  } finally {
    answered.abort();
    signal.removeEventListener('abort', end);
  }
}

/** The parts that are transferred to the thread. */
function partsOf(task: SnapshotTask): readonly Uint8Array<ArrayBuffer>[] {
  if (task.kind === 'compare') return [...task.old.parts, ...task.changed.parts];
  if (task.kind === 'unwrap') return task.parts;
  return task.kind === 'open' && task.content.kind === 'parts' ? task.content.parts : [];
}
