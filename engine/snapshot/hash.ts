// The one place that hashes. What computes SHA-256 is Node's own (sha256-node.ts), or elsewhere a library in JavaScript
// (sha256-portable.ts): package.json says which under `imports`, and bundlers for browsers and workers follow it.
import { hexOf, hexOfAll, putHash } from '#sha256';

declare const brand: unique symbol;

/** `sha256:` and 64 hex digits. */
export type Digest = string & { readonly [brand]: 'Digest' };

/** Texts are hashed as UTF-8. */
export function digestOf(data: string | Uint8Array): Digest {
  return `sha256:${hexOf(data)}` as Digest;
}

/** The longest text, in UTF-16 units, that is put together only to be hashed. */
const WHOLE = 1 << 24;

/** Of the parts one after the other, a list joined by commas. Together they may be longer than any text of JavaScript. */
export function digestOfParts(parts: readonly (string | readonly string[])[]): Digest {
  const length = parts.reduce((sum, part) => sum + lengthOf(part), 0);
  if (length <= WHOLE) return digestOf(parts.join(''));
  return `sha256:${hexOfAll(textsOf(parts))}` as Digest;
}

function* textsOf(parts: readonly (string | readonly string[])[]): Iterable<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else for (const [i, text] of part.entries()) yield i === 0 ? text : `,${text}`;
  }
}

function lengthOf(part: string | readonly string[]): number {
  if (typeof part === 'string') return part.length;
  let length = part.length;
  for (const text of part) length += text.length;
  return length;
}

/** Writes the 32 bytes of the digest to `to` from `at` on. */
export function putDigest(data: string, to: Uint8Array, at: number): void {
  putHash(data, to, at);
}
