// The publisher of policies in tests: keys, keyrings, statements about snapshots, and what others could make of them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  encodeStatement,
  type Envelope,
  formatPublicKey,
  instantOf,
  type PublicationStatement,
} from '../../engine/index.js';
import { encodeEnvelope } from '../../engine/statement/envelope.js';
import type { PublicationRule } from '../../server/policy/open/verify-offer.js';
import { makeKeyPair, openPrivatePem, type SigningKey } from '../../server/signing/ed25519.js';
import { signOnce } from '../../server/signing/sign-statement.js';
import { HOUR, type Made, NOON } from './followed-policy.js';

export interface Signer {
  readonly publicKey: Uint8Array;
  readonly key: SigningKey;
}

export function makeSigner(): Signer {
  const { publicKey, privatePem } = makeKeyPair();
  const key = openPrivatePem(privatePem);
  if (key === null) throw new Error('no key');
  return { publicKey, key };
}

export function statementOf(of: Made, fields: Partial<PublicationStatement> = {}): PublicationStatement {
  return {
    snapshot: of.policy.digest,
    policy: of.policy.name,
    environment: 'production',
    generation: 7,
    issued: instantOf(NOON - HOUR),
    expires: instantOf(NOON + 24 * HOUR),
    ...fields,
  };
}

/** The file of a statement, signed by each of them. */
export function signedBy(statement: PublicationStatement, signers: readonly Signer[]): string {
  let envelope: Envelope | null = null;
  for (const { key } of signers) envelope = signOnce(key, encodeStatement(statement), envelope)?.envelope ?? null;
  if (envelope === null) throw new Error('not signed');
  return encodeEnvelope(envelope);
}

/** Who has to have signed for `production`, as a file in the folder. */
export function ruleIn(folder: string, signers: readonly Signer[], threshold = 1): PublicationRule {
  const path = join(folder, 'keyring.yaml');
  const keys = signers.map(
    ({ publicKey }, index) => `  - name: signer-${String(index)}\n    publicKey: ${formatPublicKey(publicKey)}\n`,
  );
  writeFileSync(path, `threshold: ${String(threshold)}\nkeys:\n${keys.join('')}`);
  return { keyring: { path, shown: path }, environment: 'production' };
}
