// SHA-256 in JavaScript, for browsers and workers: theirs is asynchronous, and a decision is not. Has the same functions as
// sha256-node.ts.
import { sha256 } from '@noble/hashes/sha2.js';

const UTF8 = new TextEncoder();

/** 64 hex digits. Texts are hashed as UTF-8. */
export function hexOf(data: string | Uint8Array): string {
  return hex(sha256(typeof data === 'string' ? UTF8.encode(data) : data));
}

/** Of the texts one after the other. */
export function hexOfAll(texts: Iterable<string>): string {
  const hashing = sha256.create();
  for (const text of texts) hashing.update(UTF8.encode(text));
  return hex(hashing.digest());
}

/** Writes the 32 bytes to `to` from `at` on. */
export function putHash(data: string, to: Uint8Array, at: number): void {
  to.set(sha256(UTF8.encode(data)), at);
}

function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += (byte + 0x100).toString(16).slice(1);
  return text;
}
