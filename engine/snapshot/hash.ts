// The one place that hashes.
import { hash } from 'node:crypto';

declare const brand: unique symbol;

/** `sha256:` and 64 hex digits. */
export type Digest = string & { readonly [brand]: 'Digest' };

/** Texts are hashed as UTF-8. */
export function digestOf(data: string | Uint8Array): Digest {
  return `sha256:${hash('sha256', data, 'hex')}` as Digest;
}

/** The 32 bytes of the digest. */
export function digestBytesOf(data: string | Uint8Array): Uint8Array {
  return hash('sha256', data, 'buffer');
}
