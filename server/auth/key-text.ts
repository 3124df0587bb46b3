// The text of an API key, `bwk_<key id>_<secret>` (docs/credentials.md "API keys"): made, read and compared here. Only the
// secret's hash is stored; a plain SHA-256 is enough for 256 random bits.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface KeyText {
  readonly id: string;
  readonly secret: string;
}

const PREFIX = 'bwk_';
/** No `_`, so that the text splits in one way; no letters that are read as others. */
const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_LENGTH = 16;
const SECRET_BYTES = 32;
const ID = /^[0-9abcdefghjkmnpqrstvwxyz]{16}$/;
const KEY = /^bwk_([0-9abcdefghjkmnpqrstvwxyz]{16})_([A-Za-z0-9_-]{43})$/;

/** What an id that is not stored is compared with, so that both take the same path. */
const NO_HASH = Buffer.alloc(32);

export function makeKeyText(): KeyText {
  const id = Array.from(randomBytes(ID_LENGTH), (byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('');
  return { id, secret: randomBytes(SECRET_BYTES).toString('base64url') };
}

export function formatKey(key: KeyText): string {
  return `${PREFIX}${key.id}_${key.secret}`;
}

/** Null for every text that no key of ours can be. */
export function parseKey(text: string): KeyText | null {
  const match = KEY.exec(text);
  return match?.[1] === undefined || match[2] === undefined ? null : { id: match[1], secret: match[2] };
}

/** Whether a text is meant as a key of ours, right or not. */
export function isKeyText(text: string): boolean {
  return text.startsWith(PREFIX);
}

export function isKeyId(text: string): boolean {
  return ID.test(text);
}

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** In constant time, and with the same work for a key that does not exist: its stored hash is null. */
export function hashMatches(presented: Uint8Array, storedHash: Uint8Array | null): boolean {
  const known = storedHash !== null && storedHash.length === NO_HASH.length;
  const equal = timingSafeEqual(presented, known ? storedHash : NO_HASH);
  return known && equal;
}
