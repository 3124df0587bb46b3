// Key pairs and signed envelopes for the tests of statements, made by Node and not by the code under test.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import type { Envelope, VerifySignature } from '../../../engine/index.js';
import { keyIdOf } from '../../../engine/statement/public-key.js';

const PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export interface TestKey {
  readonly publicKey: Uint8Array;
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

export function makeKey(): TestKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(PREFIX.length);
  return { publicKey: raw, keyId: keyIdOf(raw), privateKey };
}

export const verifyByNode: VerifySignature = ({ publicKey, message, signature }) => {
  const key = createPublicKey({ key: Buffer.concat([PREFIX, publicKey]), format: 'der', type: 'spki' });
  return verify(null, message, key, signature);
};

/** Pre-authentication encoding written from the text of DSSE, for single-byte types. */
export function signedBytes(payloadType: string, payload: Uint8Array): Buffer {
  const head = `DSSEv1 ${String(payloadType.length)} ${payloadType} ${String(payload.length)} `;
  return Buffer.concat([Buffer.from(head), payload]);
}

export function signedBy(
  keys: readonly TestKey[],
  payload: Uint8Array,
  payloadType = 'application/vnd.in-toto+json',
): Envelope {
  const message = signedBytes(payloadType, payload);
  const signatures = keys.map(({ keyId, privateKey }) => ({ keyId, bytes: sign(null, message, privateKey) }));
  return { payloadType, payload, signatures };
}
