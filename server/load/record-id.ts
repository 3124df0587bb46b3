// Ids for records to which the dataset gives none: UUIDs of version 8, derived from what names the line. So a second
// run finds what the first one stored (docs/datasets.md "A line").
import { hash } from 'node:crypto';
import type { Family, NamespacePath } from '../../engine/index.js';

export interface RecordName {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly name: string | null;
  readonly version: string | null;
}

/** 32 bytes that stand for a name. */
export function nameDigest({ family, namespace, name, version }: RecordName): Buffer {
  return hash('sha256', JSON.stringify(['bailiwick record', family, namespace, name, version]), 'buffer');
}

/** The id of a line that follows `before` lines of the same name. */
export function deriveId(digest: Uint8Array, before: number): string {
  const bytes = hash('sha256', Buffer.concat([digest, Buffer.from(String(before))]), 'buffer').subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
