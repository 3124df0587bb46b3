// The one place that hashes.
import { hash } from 'node:crypto';

declare const brand: unique symbol;

/** `sha256:` and 64 hex digits. */
export type Digest = string & { readonly [brand]: 'Digest' };

/** Texts are hashed as UTF-8. */
export function digestOf(data: string | Uint8Array): Digest {
  return `sha256:${hash('sha256', data, 'hex')}` as Digest;
}

/** Writes the 32 bytes of the digest to `to` from `at` on. Going through a Latin-1 string is faster than through a buffer. */
export function putDigest(data: string, to: Uint8Array, at: number): void {
  const units = hash('sha256', data, 'latin1');
  for (let i = 0; i < units.length; i += 1) to[at + i] = units.charCodeAt(i);
}
