// What a policy was found to satisfy, as an in-toto statement with the predicate "Simple Verification Result" (SVR,
// https://in-toto.io/attestation/svr/v0.1). Any reader of SVR understands subject, verifier, time and properties. What was
// checked in detail is an extension field, `bailiwick`, which such readers ignore (docs/evidence.md).
import { formatInstant, type Instant, parseInstant } from '../../engine/index.js';
import { canonicalJson } from '../json/canonical-json.js';
import { isObject, parseStrictJson } from '../json/strict-json.js';

export const SVR = 'https://in-toto.io/attestation/svr/v0.1';
/** Names the rules by which a property is listed. It changes when they do. */
const VERIFIER = 'urn:bailiwick:verifier:v1';
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';

/** A property is listed only if it was found to hold. Their meanings are in docs/evidence.md. */
export const PROPERTIES = [
  'BAILIWICK_POLICY_VALID',
  'BAILIWICK_TESTS_PASSED',
  'BAILIWICK_GUARDRAILS_HELD',
  'BAILIWICK_COMPARED',
  'BAILIWICK_SAME_DECISIONS',
  'BAILIWICK_NO_NEW_ACCESS',
  'BAILIWICK_NO_WEAKER_CHECKS',
  'BAILIWICK_SIGNED',
] as const;
export type Property = (typeof PROPERTIES)[number];

/** How many there were and the digest of their normal form, as the snapshot has them; names are absent if they would take too much room. */
export interface Passed {
  readonly count: number;
  readonly digest: string;
  readonly names?: readonly string[];
}

/** The difference from an earlier policy. Counts of cells beyond 2^53 - 1 are strings. */
export interface AttestedDiff {
  readonly snapshot: string;
  readonly decisions: string;
  readonly cells: { readonly [count in 'compared' | 'equal' | 'gained' | 'lost']: number | string };
  /** How many rows of gained and of lost access `diff` lists. */
  readonly rows: { readonly gained: number; readonly lost: number };
  /** SHA-256, in hex, of what `diff <earlier snapshot> <snapshot> --format json` prints. */
  readonly diff: string;
}

export interface Signer {
  readonly keyId: string;
  /** In the keyring of whoever attests. */
  readonly name: string;
}

export interface Attestation {
  readonly policy: string;
  readonly snapshot: string;
  readonly decisions: string;
  readonly at: Instant;
  /** The version of this program. */
  readonly version: string;
  readonly properties: readonly Property[];
  readonly tests: Passed;
  readonly guardrails: Passed;
  readonly compared?: AttestedDiff;
  /** Who signed the publication statement. */
  readonly signers?: readonly Signer[];
}

const MOST_NAME_BYTES = 12 * 1024;

/** The names, unless they would take too much room. */
export function passed({ count, digest }: Passed, names: readonly string[]): Passed {
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name) + 3, 0);
  return bytes > MOST_NAME_BYTES ? { count, digest } : { count, digest, names };
}

/** The exact bytes to sign: canonical JSON (RFC 8785). */
export function encodeAttestation(attestation: Attestation): Uint8Array {
  const { policy, snapshot, decisions, at, version, properties, tests, guardrails, compared, signers } = attestation;
  const found = {
    decisions,
    guardrails,
    tests,
    version,
    ...(compared === undefined ? {} : { compared }),
    ...(signers === undefined ? {} : { signers }),
  };
  const text = canonicalJson({
    _type: STATEMENT_TYPE,
    subject: [{ name: policy, digest: { sha256: snapshot.slice('sha256:'.length) } }],
    predicateType: SVR,
    predicate: { verifier: { id: VERIFIER }, timeCreated: formatInstant(at), properties, bailiwick: found },
  });
  return new TextEncoder().encode(text);
}

/** What any SVR says. Properties of other verifiers are kept. */
export interface VerificationResult {
  /** `sha256:` digests of what it is about. */
  readonly subjects: readonly string[];
  readonly verifier: string;
  readonly at: Instant;
  readonly properties: readonly string[];
  /** The earlier snapshot that it was compared with; null if none is named. */
  readonly compared: string | null;
}

/** Null if the bytes are not a statement with an SVR. Verify the signatures before calling this. */
export function readVerificationResult(payload: Uint8Array): VerificationResult | null {
  const parsed = parseStrictJson(payload, { depth: 16 });
  const statement = parsed.ok ? parsed.value : null;
  if (!isObject(statement) || statement['_type'] !== STATEMENT_TYPE || statement['predicateType'] !== SVR) return null;
  const { predicate, subject } = statement;
  if (!isObject(predicate) || !isObject(predicate['verifier']) || !Array.isArray(subject)) return null;
  const { properties, timeCreated, verifier } = predicate;
  const at = parseInstant(timeCreated);
  const id = isObject(verifier) ? verifier['id'] : null;
  if (at === null || typeof id !== 'string' || !isTexts(properties)) return null;
  const subjects = subject.flatMap((one: unknown) => {
    const digest = isObject(one) && isObject(one['digest']) ? one['digest']['sha256'] : null;
    return typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest) ? [`sha256:${digest}`] : [];
  });
  return { subjects, verifier: id, at, properties, compared: comparedIn(predicate['bailiwick']) };
}

function comparedIn(found: unknown): string | null {
  const compared = isObject(found) ? found['compared'] : null;
  const snapshot = isObject(compared) ? compared['snapshot'] : null;
  return typeof snapshot === 'string' ? snapshot : null;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
