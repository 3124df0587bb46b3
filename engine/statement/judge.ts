// Decides whether a signed statement allows a snapshot to be used (engine/README.md "Publication statements"). Signatures over the
// exact bytes are checked first. Only a payload that enough keys have signed is parsed and believed.
import type { Instant } from '../model/instant.js';
import { type Envelope, preAuthEncoding } from './envelope.js';
import type { Keyring, KeyringKey } from './keyring.js';
import { STATEMENT_LIMITS } from '../limits.js';
import { decodeStatement, PAYLOAD_TYPE, type PublicationStatement } from './statement.js';

/** Whether `signature` (64 bytes) is an Ed25519 signature of the message by `publicKey` (32 bytes). It must not throw. */
export type VerifySignature = (input: {
  readonly publicKey: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}) => boolean;

export type SignatureReason = 'malformed' | 'unknown_key' | 'wrong' | 'duplicate_key';

export interface SignatureReport {
  /** The key that made it. If no key of the keyring did, the key that it claims to be by, or null. */
  readonly keyId: string | null;
  /** The name of that key in the keyring; null if the keyring does not have it. */
  readonly name: string | null;
  readonly ok: boolean;
  /** Why it does not count; absent if it does. */
  readonly reason?: SignatureReason;
}

export type StatementFaultCode =
  | 'signature.threshold'
  | 'statement.type'
  | 'statement.malformed'
  | 'statement.subject'
  | 'statement.policy'
  | 'statement.environment'
  | 'statement.generation'
  | 'statement.not_yet_issued'
  | 'statement.expired';

export interface StatementFault {
  readonly code: StatementFaultCode;
  readonly message: string;
}

export interface StatementReport {
  readonly signatures: readonly SignatureReport[];
  /** Null until enough keys have signed it. */
  readonly statement: PublicationStatement | null;
  /** Everything that is wrong. The statement counts if and only if this is empty. */
  readonly faults: readonly StatementFault[];
}

export interface Expected {
  /** The digest of the snapshot that is to be used. */
  readonly snapshot: string;
  readonly policy: string;
  readonly at: Instant;
  /** If absent, a statement for any environment counts. */
  readonly environment?: string;
  /** If absent, a statement of any generation counts. */
  readonly minimumGeneration?: number;
}

export interface Trust {
  readonly keyring: Keyring;
  readonly verify: VerifySignature;
}

/** Never throws, whatever the envelope holds. */
export function judgeStatement(envelope: Envelope, trust: Trust, expected: Expected): StatementReport {
  const { signatures, fault } = judgeEnvelope(envelope, trust);
  if (fault !== null) return { signatures, statement: null, faults: [fault] };
  const statement = decodeStatement(envelope.payload);
  if (statement !== null) return { signatures, statement, faults: compare(statement, expected) };
  const message = 'what was signed is not a publication statement of this version';
  return { signatures, statement, faults: [{ code: 'statement.malformed', message }] };
}

/** Whether enough keys have signed some in-toto statement. Its payload may be parsed only if there is no fault. Never throws. */
export function judgeEnvelope(
  envelope: Envelope,
  trust: Trust,
): { readonly signatures: readonly SignatureReport[]; readonly fault: StatementFault | null } {
  const signatures = judgeSignatures(envelope, trust);
  const { threshold } = trust.keyring;
  const counted = signatures.filter((signature) => signature.ok).length;
  if (counted < threshold) {
    const who =
      counted === 0
        ? 'no key of the keyring has'
        : `only ${String(counted)} ${counted === 1 ? 'key of the keyring has' : 'keys of the keyring have'}`;
    const needed = `${String(threshold)} ${threshold === 1 ? 'is' : 'are'} needed`;
    const message = `too few signatures: ${who} signed, ${needed}`;
    return { signatures, fault: { code: 'signature.threshold', message } };
  }
  const isStatement = envelope.payloadType === PAYLOAD_TYPE;
  const message = 'what was signed is not an in-toto statement';
  return { signatures, fault: isStatement ? null : { code: 'statement.type', message } };
}

/** Keys are counted, and neither signatures nor claimed ids: of several signatures by one key only one counts. */
function judgeSignatures(envelope: Envelope, { keyring, verify }: Trust): readonly SignatureReport[] {
  const message = preAuthEncoding(envelope);
  const counted = new Set<string>();
  return envelope.signatures.map(({ keyId, bytes }) => {
    const claimed = keyring.keys.find((key) => key.keyId === keyId);
    const report = { keyId, name: claimed?.name ?? null, ok: false };
    if (bytes === null) return { ...report, reason: 'malformed' };
    const isBy = ({ publicKey }: KeyringKey): boolean => verify({ publicKey, message, signature: bytes });
    // A key id says which key to try; an unknown id is refused. DSSE allows signatures without an id, and then every key is tried.
    const key = keyId === null ? keyring.keys.find(isBy) : [claimed].find((one) => one !== undefined && isBy(one));
    if (key === undefined) return { ...report, reason: claimed === undefined ? 'unknown_key' : 'wrong' };
    const made = { keyId: key.keyId, name: key.name };
    if (counted.has(key.keyId)) return { ...made, ok: false, reason: 'duplicate_key' };
    counted.add(key.keyId);
    return { ...made, ok: true };
  });
}

function compare(statement: PublicationStatement, expected: Expected): readonly StatementFault[] {
  const faults: StatementFault[] = [];
  const check = (holds: boolean, code: StatementFaultCode, message: string): void => {
    if (!holds) faults.push({ code, message });
  };
  const { environment, minimumGeneration, at } = expected;
  check(statement.snapshot === expected.snapshot, 'statement.subject', 'the statement is about another snapshot');
  check(statement.policy === expected.policy, 'statement.policy', 'the statement is about a policy with another name');
  check(
    environment === undefined || statement.environment === environment,
    'statement.environment',
    'the statement is for another environment',
  );
  check(
    minimumGeneration === undefined || statement.generation >= minimumGeneration,
    'statement.generation',
    'the statement has an older generation than required',
  );
  check(
    statement.issued <= at + STATEMENT_LIMITS.clockSkew,
    'statement.not_yet_issued',
    'the statement is dated in the future',
  );
  check(at < statement.expires, 'statement.expired', 'the statement has expired');
  return faults;
}
