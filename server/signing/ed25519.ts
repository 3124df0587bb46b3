// Ed25519 by Node: the port with which the engine's statements are signed and verified. Outside this file keys are 32
// raw bytes.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import type { VerifySignature } from '../../engine/index.js';

/** SubjectPublicKeyInfo of Ed25519 up to the key (RFC 8410). */
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export const verifyEd25519: VerifySignature = ({ publicKey, message, signature }) => {
  const key = createPublicKey({ key: Buffer.concat([PUBLIC_PREFIX, publicKey]), format: 'der', type: 'spki' });
  return verify(null, message, key, signature);
};

export interface SigningKey {
  /** The 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly sign: (message: Uint8Array) => Uint8Array;
}

export interface NewKeyPair {
  readonly publicKey: Uint8Array;
  readonly privatePem: string;
  readonly publicPem: string;
}

export function makeKeyPair(): NewKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: rawPublicKey(publicKey),
    privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** Reads an unencrypted PKCS #8 file as `keygen` and openssl write it; null for anything else. */
export function openPrivatePem(text: string): SigningKey | null {
  const body = /^-----BEGIN PRIVATE KEY-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END PRIVATE KEY-----\r?\n?$/.exec(text)?.[1];
  if (body === undefined) return null;
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: Buffer.from(body, 'base64'), format: 'der', type: 'pkcs8' });
  } catch {
    // The library's message may reveal bytes of the key, so none of it is passed on.
    return null;
  }
  if (key.asymmetricKeyType !== 'ed25519') return null;
  return { publicKey: rawPublicKey(createPublicKey(key)), sign: (message) => sign(null, message, key) };
}

/** The 32 bytes of a public key in a file as `keygen` and openssl write it; null for anything else. */
export function openPublicPem(text: string): Uint8Array | null {
  const body = /^-----BEGIN PUBLIC KEY-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END PUBLIC KEY-----\r?\n?$/.exec(text)?.[1];
  const der = Buffer.from(body ?? '', 'base64');
  const isKey = der.length === PUBLIC_PREFIX.length + 32 && der.subarray(0, PUBLIC_PREFIX.length).equals(PUBLIC_PREFIX);
  return isKey ? der.subarray(PUBLIC_PREFIX.length) : null;
}

function rawPublicKey(key: KeyObject): Uint8Array {
  return key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_PREFIX.length);
}
