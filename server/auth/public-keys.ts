// The keys of an issuer's key set (RFC 7517) that can verify a signature with an algorithm that the settings name. The
// algorithm always comes from the settings, even if a key names none. Keys that do not fit are left out.
import { type CryptoKey, importJWK, type JWK } from 'jose';
import { isObject, parseStrictJson } from '../json/strict-json.js';
import { TOKEN_LIMITS } from '../limits/credentials.js';

/** The algorithms that the settings may allow. Each is a public-key algorithm with one kind of key. */
export const ALGORITHMS = Object.freeze({
  RS256: { kty: 'RSA', crv: null },
  RS384: { kty: 'RSA', crv: null },
  RS512: { kty: 'RSA', crv: null },
  PS256: { kty: 'RSA', crv: null },
  PS384: { kty: 'RSA', crv: null },
  PS512: { kty: 'RSA', crv: null },
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
} as const);

export type Algorithm = keyof typeof ALGORITHMS;

export interface PublicKey {
  readonly keyId: string;
  readonly algorithm: Algorithm;
  /** The key itself as text, so that a key is recognized when it is fetched again. */
  readonly material: string;
  readonly key: CryptoKey;
}

/** The document is not a usable key set. The message is one of a few fixed texts. */
export class KeySetError extends Error {
  override readonly name = 'KeySetError';
}

/** The keys of the document that fit one of the algorithms. A key that fits several is listed once for each. */
export async function readKeySet(
  document: Uint8Array,
  algorithms: readonly Algorithm[],
): Promise<readonly PublicKey[]> {
  const fields = readDocument(document, 'the key set');
  const keys = fields.get('keys');
  if (!Array.isArray(keys)) throw new KeySetError('the key set has no list of keys');
  if (keys.length > TOKEN_LIMITS.keys)
    throw new KeySetError(`the key set has more than ${String(TOKEN_LIMITS.keys)} keys`);
  const read = await Promise.all(keys.flatMap((jwk) => algorithms.map((algorithm) => readKey(jwk, algorithm))));
  return read.filter((key) => key !== null);
}

/** The members of a JSON object that an issuer has published. */
export function readDocument(bytes: Uint8Array, name: string): ReadonlyMap<string, unknown> {
  const read = parseStrictJson(bytes, { depth: TOKEN_LIMITS.documentDepth });
  if (!read.ok) throw new KeySetError(`${name} is not strict JSON`);
  if (!isObject(read.value)) throw new KeySetError(`${name} is not an object`);
  return new Map<string, unknown>(Object.entries(read.value));
}

async function readKey(value: unknown, algorithm: Algorithm): Promise<PublicKey | null> {
  if (!isObject(value)) return null;
  const jwk = new Map<string, unknown>(Object.entries(value));
  const { kty, crv } = ALGORITHMS[algorithm];
  const keyId = jwk.get('kid');
  // A published private key proves nothing.
  if (typeof keyId !== 'string' || jwk.get('kty') !== kty || jwk.has('d')) return null;
  if ((jwk.get('use') ?? 'sig') !== 'sig' || (jwk.get('alg') ?? algorithm) !== algorithm) return null;
  const operations = jwk.get('key_ops') ?? ['verify'];
  if (!Array.isArray(operations) || !operations.includes('verify')) return null;
  const names = kty === 'RSA' ? ['n', 'e'] : kty === 'EC' ? ['x', 'y'] : ['x'];
  const parts = names.map((name) => [name, jwk.get(name)] as const);
  if (!parts.every(([, part]) => typeof part === 'string')) return null;
  if (crv === null ? !hasUsableSize(String(jwk.get('n'))) : jwk.get('crv') !== crv) return null;
  const own: JWK = { kty, ...(crv === null ? {} : { crv }), ...Object.fromEntries(parts) };
  try {
    const key = await importJWK(own, algorithm);
    return key instanceof Uint8Array ? null : { keyId, algorithm, material: JSON.stringify(own), key };
  } catch {
    return null;
  }
}

function hasUsableSize(modulus: string): boolean {
  const bytes = Buffer.from(modulus, 'base64url');
  // Zeros in front make a number longer, but no greater.
  const start = bytes.findIndex((byte) => byte !== 0);
  const bits = 8 * (bytes.length - start) - Math.clz32(bytes[start] ?? 0) + 24;
  const { least, most } = TOKEN_LIMITS.rsaBits;
  return start >= 0 && bits >= least && bits <= most;
}
