// The bytes of a snapshot: read from a file or a stream within limits, and opened to be served, when they must be the
// snapshot that was meant, and intact in every part. This loads without the compiler, for the thread that opens what a
// gateway is to serve.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { types } from 'node:util';
import { type PackedPolicy, packSnapshot } from '../../../engine/index.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import { type NoBytes, pathFaultOf, refusal, snapshotRefused } from '../policy-fault.js';

export const READ_BYTES = 1024 * 1024;

export type ReadBytes = { readonly kind: 'read'; readonly bytes: Uint8Array } | NoBytes;

const NO_FILE: NoBytes = { kind: 'path', fault: { kind: 'unreadable', code: 'not a file', cause: null } };

/** Reads only a regular file: a pipe in its place can neither hang nor pass. */
export async function readSnapshotFile(path: string): Promise<ReadBytes> {
  try {
    // Who waits for a reader of a pipe would take this for one.
    if (!(await stat(path)).isFile()) return NO_FILE;
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) return NO_FILE;
      if (facts.size > POLICY_LIMITS.snapshotBytes) return { kind: 'too_large' };
      return await readAll(handle.createReadStream({ highWaterMark: READ_BYTES, autoClose: false }));
    } finally {
      await handle.close();
    }
  } catch (error) {
    return { kind: 'path', fault: pathFaultOf(error) };
  }
}

/** Everything in a stream, whatever size it announced. */
export async function readAll(
  parts: AsyncIterable<unknown>,
  onBytes?: (bytes: number, doing: 'reading') => void,
): Promise<ReadBytes> {
  const chunks: Buffer[] = [];
  let total = 0;
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
  return { kind: 'read', bytes: Buffer.concat(chunks, total) };
}

export interface Meant {
  /** Undefined if any snapshot will do. */
  readonly digest: string | undefined;
  /** The digest of the snapshot that a statement is about; null if no signature is required. */
  readonly signed: string | null;
}

/** The digest of these bytes. Throws `PolicyRefused` unless they are the snapshot that is meant. */
export function digestMeant(bytes: Uint8Array, meant: Meant): string {
  const digest = sha256Of(bytes);
  if ((meant.digest ?? digest) !== digest)
    throw refusal('snapshot.digest', `its bytes are another snapshot (${digest})`);
  if ((meant.signed ?? digest) !== digest)
    throw refusal('statement.subject', 'the statement is about another snapshot');
  return digest;
}

/** Throws `PolicyRefused`. */
export function packBytes(bytes: Uint8Array, digest: string): PackedPolicy {
  const packed = packSnapshot(bytes);
  if (!packed.ok) throw snapshotRefused(packed.fault, digest);
  return packed.packed;
}

export function sha256Of(...parts: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return `sha256:${hash.digest('hex')}`;
}

/**
 * The same bytes in memory that threads share, copied only if they are not there already: copying a large snapshot
 * between threads would block the thread that answers requests. Nobody may write to them from then on.
 */
export function toShared(bytes: Uint8Array): Uint8Array {
  if (types.isSharedArrayBuffer(bytes.buffer)) return bytes;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}
