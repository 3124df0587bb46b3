// SHA-256 as Node computes it. Has the same functions as sha256-portable.ts, and a test holds them to the same results.
import { createHash, hash } from 'node:crypto';

/** 64 hex digits. Texts are hashed as UTF-8. */
export function hexOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** Of the texts one after the other. */
export function hexOfAll(texts: Iterable<string>): string {
  const hashing = createHash('sha256');
  for (const text of texts) hashing.update(text);
  return hashing.digest('hex');
}

/** Writes the 32 bytes to `to` from `at` on. Going through a Latin-1 string is faster than through a buffer. */
export function putHash(data: string, to: Uint8Array, at: number): void {
  const units = hash('sha256', data, 'latin1');
  for (let i = 0; i < units.length; i += 1) to[at + i] = units.charCodeAt(i);
}
