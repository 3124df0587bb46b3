// A policy folder or a snapshot file to the policy that it is: a folder is checked and compiled in memory, a file is verified
// whole. Every way in which that fails is a value; who asked says what it means there.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { InvariantError, loadSnapshot, type LoadResult, type Policy, type SnapshotFault } from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits.js';
import { type CheckReport, checkPolicy, type Phase } from './check-policy.js';
import { type PathFault, pathFaultOf } from './path-fault.js';
import { loadInThread } from './snapshot-thread.js';

const READ_BYTES = 1024 * 1024;

/**
 * To study a policy is to ask why its tests fail, too: then failed tests and violated guardrails do not refuse it. To serve it is to
 * decide and nothing else: it is loaded in a thread of its own, into the one buffer that decisions read.
 */
export type Purpose = 'use' | 'study' | 'serve';

export type OpenResult =
  | {
      readonly kind: 'opened';
      readonly policy: Policy;
      /** The snapshot's exact bytes. */
      readonly bytes: Uint8Array;
      readonly source: 'folder' | 'file' | 'stdin';
      /** What was found in a folder; null for a snapshot. */
      readonly report: CheckReport | null;
    }
  | { readonly kind: 'refused'; readonly report: CheckReport }
  | { readonly kind: 'path'; readonly fault: PathFault }
  | { readonly kind: 'corrupt'; readonly fault: SnapshotFault; readonly sha256: string }
  | { readonly kind: 'too_large' };

/** Told how far opening has come. */
export interface OpenWatcher {
  readonly onPhase?: (phase: Phase) => void;
  /** Bytes of a snapshot: read so far, or all of them and about to be verified. */
  readonly onBytes?: (bytes: number, doing: 'reading' | 'verifying') => void;
}

/** Opens what is at an absolute path. */
export async function openPolicy(path: string, purpose: Purpose, watcher: OpenWatcher = {}): Promise<OpenResult> {
  try {
    const facts = await stat(path);
    if (facts.isDirectory()) return await openFolder(path, purpose, watcher);
    if (facts.size > POLICY_LIMITS.snapshotBytes) return { kind: 'too_large' };
  } catch (error) {
    return { kind: 'path', fault: pathFaultOf(error) };
  }
  // Bounded as stdin is: a size is not believed, and pipes have none.
  return openSnapshot(createReadStream(path, { highWaterMark: READ_BYTES }), { source: 'file', purpose }, watcher);
}

/** Opens a snapshot that arrives in a stream. */
export async function openSnapshot(
  stream: Readable,
  { source, purpose }: { readonly source: 'file' | 'stdin'; readonly purpose: Purpose },
  { onBytes }: OpenWatcher = {},
): Promise<OpenResult> {
  const bytes = await readAll(stream, onBytes);
  if ('kind' in bytes) return bytes;
  if (bytes.length >= POLICY_LIMITS.quietBytes) onBytes?.(bytes.length, 'verifying');
  const loaded = await load(bytes, purpose);
  if (loaded.ok) return { kind: 'opened', policy: loaded.policy, bytes, source, report: null };
  const sha256 = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { kind: 'corrupt', fault: loaded.fault, sha256 };
}

async function openFolder(folder: string, purpose: Purpose, { onPhase }: OpenWatcher): Promise<OpenResult> {
  const result = await checkPolicy({ folder, ...(onPhase === undefined ? {} : { onPhase }) });
  if (result.kind === 'path') return result;
  const { report } = result;
  if (report.compiled === null || (report.verdict !== 'ok' && purpose !== 'study')) return { kind: 'refused', report };
  const { handle, snapshot } = report.compiled;
  const opened = { kind: 'opened', bytes: snapshot.bytes, source: 'folder', report } as const;
  if (purpose !== 'serve') return { ...opened, policy: handle };
  const loaded = await load(snapshot.bytes, purpose);
  if (loaded.ok) return { ...opened, policy: loaded.policy };
  throw new InvariantError(`the compiled snapshot does not load: ${loaded.fault.code}: ${loaded.fault.message}`);
}

/** Everything that decides is verified before any of it is used. */
function load(bytes: Uint8Array, purpose: Purpose): LoadResult | Promise<LoadResult> {
  return purpose === 'serve' ? loadInThread(bytes) : loadSnapshot(bytes);
}

async function readAll(
  stream: Readable,
  onBytes: OpenWatcher['onBytes'],
): Promise<Uint8Array | Extract<OpenResult, { kind: 'too_large' | 'path' }>> {
  const chunks: Buffer[] = [];
  let total = 0;
  const parts: AsyncIterable<unknown> = stream;
  try {
    for await (const chunk of parts) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
      total += bytes.length;
      if (total > POLICY_LIMITS.snapshotBytes) return { kind: 'too_large' };
      chunks.push(bytes);
      onBytes?.(total, 'reading');
    }
  } catch (error) {
    return { kind: 'path', fault: pathFaultOf(error) };
  }
  return Buffer.concat(chunks, total);
}
