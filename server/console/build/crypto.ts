// What the engine uses of `node:crypto`, for browsers.
import { sha256 } from '@noble/hashes/sha2.js';

const encoder = new TextEncoder();
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

type Data = string | Uint8Array;
type Encoding = 'hex' | 'latin1';

function bytesOf(data: Data): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : data;
}

function written(digest: Uint8Array, encoding: Encoding): string {
  let text = '';
  for (const byte of digest) text += encoding === 'hex' ? (HEX[byte] ?? '') : String.fromCharCode(byte);
  return text;
}

export function hash(_: 'sha256', data: Data, encoding: Encoding): string {
  return written(sha256(bytesOf(data)), encoding);
}

export interface Hashing {
  readonly update: (data: Data) => Hashing;
  readonly digest: (encoding: Encoding) => string;
}

export function createHash(_: 'sha256'): Hashing {
  const hashing = sha256.create();
  const made: Hashing = {
    update: (data) => {
      hashing.update(bytesOf(data));
      return made;
    },
    digest: (encoding) => written(hashing.digest(), encoding),
  };
  return made;
}
