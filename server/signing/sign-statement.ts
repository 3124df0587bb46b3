// One signature of a statement, and what becomes of those that are there.
import {
  encodeStatement,
  type Envelope,
  type EnvelopeSignature,
  keyIdOf,
  PAYLOAD_TYPE,
  preAuthEncoding,
  type PublicationStatement,
  STATEMENT_LIMITS,
} from '../../engine/index.js';
import { type SigningKey, verifyEd25519 } from './ed25519.js';

/** What becomes of the statement that was there, if there was one. */
export type Change = 'created' | 'added' | 'unchanged' | 'replaced';

export interface Signed {
  readonly envelope: Envelope;
  readonly change: Change;
}

/**
 * The statement in an envelope with a signature by this key: one more where `existing` says the same, in its place where it says something
 * else. Null if it has as many signatures as it may.
 */
export function signOnce(key: SigningKey, statement: PublicationStatement, existing: Envelope | null): Signed | null {
  const payload = encodeStatement(statement);
  const keyId = keyIdOf(key.publicKey);
  const signed = { payloadType: PAYLOAD_TYPE, payload };
  const message = preAuthEncoding(signed);
  const own = { keyId, bytes: key.sign(message) };
  const isSame = existing?.payloadType === PAYLOAD_TYPE && Buffer.compare(existing.payload, payload) === 0;
  if (!isSame)
    return { envelope: { ...signed, signatures: [own] }, change: existing === null ? 'created' : 'replaced' };
  const isOurs = ({ bytes }: EnvelopeSignature): boolean =>
    bytes !== null && verifyEd25519({ publicKey: key.publicKey, message, signature: bytes });
  const change = existing.signatures.some(isOurs) ? 'unchanged' : 'added';
  // Ours under any id, and what only claims to be ours.
  const others = existing.signatures.filter((signature) => signature.keyId !== keyId && !isOurs(signature));
  if (others.length >= STATEMENT_LIMITS.signatures) return null;
  return { envelope: { ...signed, signatures: [...others, own] }, change };
}
