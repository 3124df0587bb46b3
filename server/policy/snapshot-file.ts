// The bytes of a snapshot, read from a file or a stream within limits. Nothing is verified yet. This loads without the
// compiler, for the thread that opens what a gateway is to serve.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { POLICY_LIMITS } from '../limits/policy.js';
import { type PathFault, pathFaultOf } from './path-fault.js';

export const READ_BYTES = 1024 * 1024;

/** Why there are no bytes. */
export type NoBytes = { readonly kind: 'path'; readonly fault: PathFault } | { readonly kind: 'too_large' };

export type ReadBytes = { readonly kind: 'read'; readonly bytes: Uint8Array } | NoBytes;

/** Reads only a regular file: a pipe in its place can neither hang nor pass. */
export async function readSnapshotFile(path: string): Promise<ReadBytes> {
  try {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) return { kind: 'path', fault: { kind: 'unreadable', code: 'not a file', cause: null } };
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
  stream: Readable,
  onBytes?: (bytes: number, doing: 'reading') => void,
): Promise<ReadBytes> {
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
  return { kind: 'read', bytes: Buffer.concat(chunks, total) };
}
