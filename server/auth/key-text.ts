// The text of an API key, `bwk_<key id>_<secret>` (docs/credentials.md "API keys"): made, read and compared here. Only
// the hash of the secret is stored. A plain SHA-256 is enough for 256 random bits.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

export interface KeyText {
  readonly id: string;
  readonly secret: string;
}

const PREFIX = 'bwk_';
/** Without `_`, so that the text splits in only one way, and without letters that are easily misread. */
const ID_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const ID_LENGTH = 16;
const SECRET_BYTES = 32;
const ID = /^[0-9abcdefghjkmnpqrstvwxyz]{16}$/;
const KEY = /^bwk_([0-9abcdefghjkmnpqrstvwxyz]{16})_([A-Za-z0-9_-]{43})$/;

/** The hash that a secret is compared with if the id is not stored, so that both cases take the same path. */
const NO_HASH = Buffer.alloc(32);

export function makeKeyText(): KeyText {
  const id = Array.from(randomBytes(ID_LENGTH), (byte) => ID_ALPHABET.charAt(byte % ID_ALPHABET.length)).join('');
  return { id, secret: randomBytes(SECRET_BYTES).toString('base64url') };
}

export function formatKey(key: KeyText): string {
  return `${PREFIX}${key.id}_${key.secret}`;
}

/** Null for any text that cannot be a key of ours. */
export function parseKey(text: string): KeyText | null {
  const match = KEY.exec(text);
  return match?.[1] === undefined || match[2] === undefined ? null : { id: match[1], secret: match[2] };
}

/** Whether a text is meant to be a key of ours, valid or not. */
export function isKeyText(text: string): boolean {
  return text.startsWith(PREFIX);
}

export function isKeyId(text: string): boolean {
  return ID.test(text);
}

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Takes constant time, and does the same work for a key that does not exist, which has null as its stored hash. */
export function hashMatches(presented: Uint8Array, storedHash: Uint8Array | null): boolean {
  const known = storedHash !== null && storedHash.length === NO_HASH.length;
  const equal = timingSafeEqual(presented, known ? storedHash : NO_HASH);
  return known && equal;
}
