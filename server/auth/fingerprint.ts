// Fingerprints: a keyed hash of what identifies a credential, never of its spelling (design 8). The key belongs to the
// installation and is kept in its database, so that every process and every restart gives the same.
import { createHmac } from 'node:crypto';

export type Fingerprinter = (kind: 'key' | 'local', id: string) => string;

/** 64 hex digits; nobody without the key can tell which credential one belongs to. */
export function makeFingerprinter(key: Uint8Array): Fingerprinter {
  // Neither part can hold the separator, so no two pairs are one text.
  return (kind, id) => createHmac('sha256', key).update(`${kind}\0${id}`).digest('hex');
}
