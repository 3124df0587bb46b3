// Ids of records that commands make: UUIDs of version 7 (RFC 9562), which roughly sort by when they were made.
import { randomBytes } from 'node:crypto';
import type { Instant } from '../../engine/index.js';

export function newRecordId(at: Instant): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Math.max(at, 0), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
