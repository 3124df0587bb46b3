// Adds one signature to an in-toto statement, and decides what happens to the signatures that are already there.
import {
  type Envelope,
  type EnvelopeSignature,
  keyIdOf,
  PAYLOAD_TYPE,
  preAuthEncoding,
  STATEMENT_LIMITS,
} from '../../engine/index.js';
import { type SigningKey, verifyEd25519 } from './ed25519.js';

/** What happened to an existing statement, if there was one. */
export type StatementChange = 'created' | 'added' | 'unchanged' | 'replaced';

export interface Signed {
  readonly envelope: Envelope;
  readonly change: StatementChange;
}

/**
 * Puts the bytes of the statement in an envelope with a signature by this key. The signature is added if `existing` says the same;
 * otherwise the new envelope replaces `existing`. Null if there are already as many signatures as allowed.
 */
export function signOnce(key: SigningKey, payload: Uint8Array, existing: Envelope | null): Signed | null {
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
  // Drops our own signature under any id, and signatures that only claim to be ours.
  const others = existing.signatures.filter((signature) => signature.keyId !== keyId && !isOurs(signature));
  if (others.length >= STATEMENT_LIMITS.signatures) return null;
  return { envelope: { ...signed, signatures: [...others, own] }, change };
}
