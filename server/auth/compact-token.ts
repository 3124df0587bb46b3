// A JSON Web Token before anything in it is trusted: a single spelling for each token (RFC 7515 compact, canonical
// base64url), strict JSON without duplicate members, and from its header only what an issuer's settings can check. Its
// claims are read elsewhere.
import { parseStrictJson } from '../json/strict-json.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';
import { notValid } from './authenticator.js';

export type Claims = ReadonlyMap<string, unknown>;

export interface CompactToken {
  readonly algorithm: string;
  readonly keyId: string;
  /** In lower case and without `application/`; null if the header has no type. */
  readonly type: string | null;
  /** Not verified. */
  readonly claims: Claims;
  /** The claims as the signature covers them, in the only spelling that is accepted here. */
  readonly payload: string;
}

const PART = /^[A-Za-z0-9_-]+$/;
const KEY_ID = /^[\x21-\x7e]{1,256}$/;

/** Whether a text has the three parts of a signed token, whatever they contain. */
export function isCompact(text: string): boolean {
  return text.split('.', 4).length === 3;
}

/**
 * Throws `auth.invalid` for a JSON Web Token in another than its only spelling, signed or encrypted. A text of any other
 * form has one spelling only, because nobody decodes it.
 */
export function refuseOtherSpelling(text: string): void {
  const parts = text.split('.');
  const isWebToken = parts.length > 2 && /^\s*\{/.test(Buffer.from(parts[0] ?? '', 'base64url').toString());
  if (isWebToken && !parts.every((part) => part === '' || isCanonical(part)))
    throw notValid('unreadable', 'not a token in its only spelling');
}

/** Throws `auth.invalid` for any text that is not a signed token in its only spelling. */
export function readCompactToken(text: string): CompactToken {
  const [header = '', payload = '', signature = '', ...more] = text.split('.', 4);
  if (more.length > 0 || ![header, payload, signature].every(isCanonical))
    throw notValid('unreadable', 'not a signed token');
  const fields = readObject(header, 'the header');
  for (const name of fields.keys()) {
    if (REFUSED.has(name)) throw notValid('unusable', `the header has \`${name}\``);
  }
  return {
    algorithm: textOf(fields, 'alg'),
    keyId: textOf(fields, 'kid'),
    type: typeOf(fields.get('typ')),
    claims: readObject(payload, 'the payload'),
    payload,
  };
}

/**
 * Header members that are refused: extensions that would have to be understood (none is), keys that a token brings or
 * points to, encryption, and nested tokens.
 */
const REFUSED: ReadonlySet<string> = new Set(['crit', 'b64', 'cty', 'enc', 'zip', 'jwk', 'jku', 'x5c', 'x5u']);

/** Padding, white space and unused bits would allow other spellings of the same part. */
function isCanonical(part: string): boolean {
  return PART.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part;
}

function readObject(part: string, name: string): Claims {
  const read = parseStrictJson(Buffer.from(part, 'base64url'), { depth: TOKEN_LIMITS.jsonDepth });
  if (!read.ok) throw notValid('unreadable', `${name} is not strict JSON`);
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw notValid('unreadable', `${name} is not an object`);
  return new Map<string, unknown>(Object.entries(value));
}

function textOf(fields: Claims, name: string): string {
  const value = fields.get(name);
  if (typeof value !== 'string' || !KEY_ID.test(value))
    throw notValid('unusable', `the header has no usable \`${name}\``);
  return value;
}

function typeOf(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string') throw notValid('unusable', 'the header has no usable `typ`');
  return value.toLowerCase().replace(/^application\//, '');
}
