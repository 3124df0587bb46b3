// Decides which 32 bytes are an Ed25519 public key that may be trusted. With a degenerate key one constant signature fits every
// message, and common libraries accept such a key. So keys are checked here before they enter a keyring.
import { type Digest, digestOf } from '../snapshot/hash.js';

export type PublicKeyFault = 'length' | 'not_canonical' | 'small_order' | 'no_point';

const LENGTH = 32;
const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** One of the two y coordinates of the points of order eight; the other is its negative. */
const ORDER_EIGHT_Y = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
/** The y coordinates of all eight points whose order divides the cofactor. */
const SMALL_ORDER_Y: ReadonlySet<bigint> = new Set([0n, 1n, P - 1n, ORDER_EIGHT_Y, P - ORDER_EIGHT_Y]);

/** The id of a key: the digest of its 32 bytes, which no other key has. */
export function keyIdOf(publicKey: Uint8Array): Digest {
  return digestOf(publicKey);
}

/** What is wrong with the encoded point, or null. */
export function publicKeyFault(bytes: Uint8Array): PublicKeyFault | null {
  if (bytes.length !== LENGTH) return 'length';
  // The highest bit is the sign of x. The rest is y, lowest byte first.
  const y = bytes.reduceRight(
    (value, byte, index) => (value << 8n) | BigInt(index === LENGTH - 1 ? byte & 0x7f : byte),
    0n,
  );
  if (SMALL_ORDER_Y.has(y % P)) return 'small_order';
  if (y >= P) return 'not_canonical';
  const u = modulo(y * y - 1n);
  const v = modulo(D * y * y + 1n);
  // u / v, which is x², must be a square (Euler's criterion). For u = 0 only one sign of x is canonical, but those points have small
  // order and were refused above.
  return power(u * power(v, P - 2n), (P - 1n) / 2n) === 1n ? null : 'no_point';
}

function modulo(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = modulo(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = modulo(result * square);
    square = modulo(square * square);
  }
  return result;
}
