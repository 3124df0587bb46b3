// A policy folder or a snapshot file to the policy that it is: a folder is checked and compiled in memory, a file is verified
// whole. Every way in which that fails is a value; who asked says what it means there.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Policy, SnapshotFault } from '../../engine/index.js';
import { POLICY_LIMITS } from '../limits.js';
import { type CheckReport, checkPolicy, type Phase } from './check-policy.js';
import { type PathFault, pathFaultOf } from './path-fault.js';
import { verifyPolicy } from './verify-policy.js';

const READ_BYTES = 1024 * 1024;
/** Bytes of a snapshot that are verified within a second anywhere. */
export const LARGE = 2 * 1024 * 1024;

/** To study a policy is to ask why its tests fail, too: then failed tests and violated guardrails do not refuse it. */
export type Purpose = 'use' | 'study';

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
  return openSnapshot(createReadStream(path, { highWaterMark: READ_BYTES }), 'file', watcher);
}

/** Opens a snapshot that arrives in a stream. */
export async function openSnapshot(
  stream: Readable,
  source: 'file' | 'stdin',
  { onBytes }: OpenWatcher = {},
): Promise<OpenResult> {
  const bytes = await readAll(stream, onBytes);
  if ('kind' in bytes) return bytes;
  if (bytes.length >= LARGE) onBytes?.(bytes.length, 'verifying');
  const verified = await verifyPolicy(bytes);
  if (verified.ok) return { kind: 'opened', policy: verified.policy, bytes, source, report: null };
  const sha256 = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { kind: 'corrupt', fault: verified.fault, sha256 };
}

async function openFolder(folder: string, purpose: Purpose, { onPhase }: OpenWatcher): Promise<OpenResult> {
  const result = await checkPolicy({ folder, ...(onPhase === undefined ? {} : { onPhase }) });
  if (result.kind === 'path') return result;
  const { report } = result;
  if (report.compiled === null || (report.verdict !== 'ok' && purpose === 'use')) return { kind: 'refused', report };
  const { handle, snapshot } = report.compiled;
  return { kind: 'opened', policy: handle, bytes: snapshot.bytes, source: 'folder', report };
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
