// Opens a policy folder or a snapshot file. A folder is checked and compiled in memory; a file is verified as a whole.
// Every failure is a value, and the caller says what it means there.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import {
  InvariantError,
  loadSnapshot,
  packedOf,
  type PackedPolicy,
  type Policy,
  type SnapshotFault,
} from '../../../engine/index.js';
import { answering } from '../../lib/stuck-disk.js';
import { POLICY_LIMITS, SOURCE_LIMITS } from '../../limits/policy.js';
import {
  type CompiledPolicy,
  type CheckReport,
  checkPolicy,
  type CheckRequest,
  type FolderMemory,
  newMemory,
  type Phase,
} from './check-policy.js';
import { DISK, impatientDisk } from './folder-files.js';
import { type NoBytes, pathFaultOf, pathRefused, PolicyRefused } from '../policy-fault.js';
import { READ_BYTES, readAll, sha256Of, toShared } from './snapshot-bytes.js';
import { loadInThread } from './snapshot-thread.js';

/**
 * `study` includes asking why tests fail, so failed tests and violated guardrails do not refuse the policy. `serve`
 * only decides, so the policy is loaded on a thread of its own, into the one buffer that decisions read.
 */
export type Purpose = 'use' | 'study' | 'serve';

/** Why a path has no snapshot. */
export type NotRead = { readonly kind: 'refused'; readonly report: CheckReport } | NoBytes;

interface ReadPolicy {
  readonly kind: 'read';
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  readonly source: 'folder' | 'file' | 'stdin';
  /** The report on a folder; null for a snapshot. */
  readonly report: CheckReport | null;
}

export type ReadResult = ReadPolicy | NotRead;

export type OpenResult =
  | (Omit<ReadPolicy, 'kind'> & { readonly kind: 'opened'; readonly policy: Policy })
  | NotRead
  | { readonly kind: 'corrupt'; readonly fault: SnapshotFault; readonly sha256: string };

/** A policy that is opened only for queries has no bytes, and that of a folder has no digests. */
export type AskedResult =
  Omit<Extract<OpenResult, { readonly kind: 'opened' }>, 'bytes'> | Exclude<OpenResult, { readonly kind: 'opened' }>;

/** Told about the progress of opening. */
export interface OpenWatcher {
  readonly onPhase?: (phase: Phase) => void;
  /** The bytes of a snapshot that were read so far, or all of them when they are about to be verified. */
  readonly onBytes?: (bytes: number, doing: 'reading' | 'verifying') => void;
}

/** Opens what is at an absolute path. */
export async function openPolicy(path: string, purpose: Purpose, watcher: OpenWatcher = {}): Promise<OpenResult> {
  return openRead(await readPolicyAt(path, purpose, watcher), purpose, watcher);
}

/** Like `openPolicy`, for callers who state no digest: a folder is opened in a fraction of the time. */
export async function openToAsk(
  path: string,
  purpose: Exclude<Purpose, 'serve'>,
  watcher: OpenWatcher = {},
): Promise<AskedResult> {
  try {
    if (!(await stat(path)).isDirectory()) return await openPolicy(path, purpose, watcher);
  } catch (error) {
    return { kind: 'path', fault: pathFaultOf(error) };
  }
  const checked = await checkFolder(path, { purpose, digests: false }, watcher);
  if (checked.kind !== 'checked') return checked;
  return { kind: 'opened', source: 'folder', policy: checked.compiled.handle, report: checked.report };
}

/** Opens a snapshot that arrives in a stream. */
export async function openSnapshot(
  stream: Readable,
  { source, purpose }: { readonly source: 'file' | 'stdin'; readonly purpose: Purpose },
  watcher: OpenWatcher = {},
): Promise<OpenResult> {
  return openRead(await readStream(stream, source, watcher), purpose, watcher);
}

/** The bytes to be loaded from an absolute path. A folder is checked and compiled; a file is read, within limits. */
export async function readPolicyAt(path: string, purpose: Purpose, watcher: OpenWatcher = {}): Promise<ReadResult> {
  let isFile: boolean;
  try {
    const facts = await stat(path);
    isFile = facts.isFile();
    if (facts.isDirectory()) {
      const files = purpose === 'serve' ? impatientDisk() : DISK;
      const checked = await checkFolder(path, { purpose, digests: true, files }, watcher);
      if (checked.kind !== 'checked') return checked;
      const { report, compiled } = checked;
      if (compiled.snapshot === null) throw new InvariantError(WITH_DIGESTS);
      return { kind: 'read', bytes: compiled.snapshot.bytes, source: 'folder', report };
    }
    if (facts.size > POLICY_LIMITS.snapshotBytes) return { kind: 'too_large' };
  } catch (error) {
    return { kind: 'path', fault: pathFaultOf(error) };
  }
  // Bounded in the same way as stdin: the stated size is not trusted, and pipes have none.
  const stream = createReadStream(path, { highWaterMark: READ_BYTES });
  // What a program writes to a pipe may come at any time, as on stdin.
  const isTimed = purpose === 'serve' && isFile;
  return readStream(isTimed ? answering(stream, SOURCE_LIMITS.silence) : stream, 'file', watcher);
}

interface Checked {
  readonly kind: 'checked';
  readonly report: CheckReport;
  readonly compiled: CompiledPolicy;
}

async function checkFolder(
  folder: string,
  { purpose, ...how }: { readonly purpose: Purpose } & Pick<CheckRequest, 'digests' | 'files' | 'memory'>,
  { onPhase }: OpenWatcher,
): Promise<Checked | Exclude<NotRead, { kind: 'too_large' }>> {
  const result = await checkPolicy({ folder, ...how, ...(onPhase === undefined ? {} : { onPhase }) });
  if (result.kind === 'path') return result;
  const { report } = result;
  const { compiled, verdict } = report;
  if (compiled === null || (verdict !== 'ok' && purpose !== 'study')) return { kind: 'refused', report };
  return { kind: 'checked', report, compiled };
}

/** A folder as it may be served. */
export interface CompiledFolder {
  readonly packed: PackedPolicy;
  /** The snapshot's exact bytes. */
  readonly bytes: Uint8Array;
  /** Whether it was opened by reading these bytes. */
  readonly isRead: boolean;
  /** For the next version of the folder. */
  readonly memory: FolderMemory;
}

/** `before` is what an earlier version has left; null if there is none. Throws `PolicyRefused`. */
export async function compileToServe(folder: string, before: FolderMemory | null): Promise<CompiledFolder> {
  const memory = before ?? newMemory();
  const checked = await checkFolder(folder, { purpose: 'serve', digests: true, memory }, {});
  if (checked.kind !== 'checked')
    throw checked.kind === 'refused' ? folderRefused(checked.report) : pathRefused(checked.fault);
  const { snapshot, handle, known } = checked.compiled;
  const packed = packedOf(handle);
  if (snapshot === null || packed === null) throw new InvariantError(WITH_DIGESTS);
  return { packed, bytes: snapshot.bytes, isRead: memory.known === null, memory: { ...memory, known } };
}

const WITH_DIGESTS = 'what is checked with digests has a snapshot and a table';

function folderRefused({ invalidating, tests, guardrails, verdict }: CheckReport): PolicyRefused {
  const problems = [
    ...invalidating.map(
      ({ file, range, message }) => `${file}:${String(range.start.line)}:${String(range.start.column)}: ${message}`,
    ),
    ...tests.failures.map(({ test, file, line }) => `${file}:${String(line)}: the test \`${test}\` fails`),
    ...guardrails.violations.map(
      ({ guardrail, file, line }) => `${file}:${String(line)}: the guardrail \`${guardrail}\` is violated`,
    ),
  ];
  return new PolicyRefused({ ...SUMMARIES[verdict], problems: problems.slice(0, POLICY_LIMITS.toldProblems) });
}

const SUMMARIES = Object.freeze({
  ok: { code: 'policy.invalid', message: 'the policy cannot be served' },
  invalid: { code: 'policy.invalid', message: 'the policy has mistakes: run `bailiwick check` on the folder' },
  tests_failed: {
    code: 'policy.tests_failed',
    message: 'tests of the policy fail: run `bailiwick test` on the folder',
  },
  guardrails_violated: {
    code: 'policy.guardrail_violated',
    message: 'guardrails of the policy are violated: run `bailiwick check` on the folder',
  },
});

async function readStream(
  parts: AsyncIterable<unknown>,
  source: 'file' | 'stdin',
  { onBytes }: OpenWatcher,
): Promise<ReadResult> {
  const read = await readAll(parts, onBytes);
  return read.kind === 'read' ? { ...read, source, report: null } : read;
}

async function openRead(read: ReadResult, purpose: Purpose, { onBytes }: OpenWatcher): Promise<OpenResult> {
  if (read.kind !== 'read') return read;
  const { source, report } = read;
  const bytes = purpose === 'serve' ? toShared(read.bytes) : read.bytes;
  const opened = { kind: 'opened', bytes, source, report } as const;
  const compiled = report?.compiled ?? null;
  if (compiled !== null && purpose !== 'serve') return { ...opened, policy: compiled.handle };
  if (compiled === null && bytes.length >= POLICY_LIMITS.quietBytes) onBytes?.(bytes.length, 'verifying');
  // Everything that decides is verified before any of it is used.
  const loaded = purpose === 'serve' ? await loadInThread(bytes) : loadSnapshot(bytes);
  if (loaded.ok) return { ...opened, policy: loaded.policy };
  const { code, message } = loaded.fault;
  if (compiled !== null) throw new InvariantError(`the compiled snapshot does not load: ${code}: ${message}`);
  return { kind: 'corrupt', fault: loaded.fault, sha256: sha256Of(bytes) };
}
