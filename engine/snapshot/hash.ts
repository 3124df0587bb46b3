// The one place that hashes.
import { createHash, hash } from 'node:crypto';

declare const brand: unique symbol;

/** `sha256:` and 64 hex digits. */
export type Digest = string & { readonly [brand]: 'Digest' };

/** Texts are hashed as UTF-8. */
export function digestOf(data: string | Uint8Array): Digest {
  return `sha256:${hash('sha256', data, 'hex')}` as Digest;
}

/** The longest text, in UTF-16 units, that is put together only to be hashed. */
const WHOLE = 1 << 24;

/** Of the parts one after the other, a list joined by commas. Together they may be longer than any text of JavaScript. */
export function digestOfParts(parts: readonly (string | readonly string[])[]): Digest {
  const length = parts.reduce((sum, part) => sum + lengthOf(part), 0);
  if (length <= WHOLE) return digestOf(parts.map((part) => (typeof part === 'string' ? part : part.join())).join(''));
  const hashing = createHash('sha256');
  for (const part of parts) {
    if (typeof part === 'string') hashing.update(part);
    else for (const [i, text] of part.entries()) hashing.update(i === 0 ? text : `,${text}`);
  }
  return `sha256:${hashing.digest('hex')}` as Digest;
}

function lengthOf(part: string | readonly string[]): number {
  if (typeof part === 'string') return part.length;
  let length = part.length;
  for (const text of part) length += text.length;
  return length;
}

/** Writes the 32 bytes of the digest to `to` from `at` on. Going through a Latin-1 string is faster than through a buffer. */
export function putDigest(data: string, to: Uint8Array, at: number): void {
  const units = hash('sha256', data, 'latin1');
  for (let i = 0; i < units.length; i += 1) to[at + i] = units.charCodeAt(i);
}
