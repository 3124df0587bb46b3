// What running services import: load a verified policy, decide, and compute what is visible. Pure functions over plain data; the
// author's tools (reading, linking, compiling) are behind `compiler.ts`.
import { type LoadResult, openSnapshot, packDecoded, type PackResult } from './evaluate/open-snapshot.js';
import { loadedOf, type Policy, preparedOf } from './evaluate/policy.js';
import { ENGINE_LIMITS, type EngineLimits } from './limits.js';
import { type NamespacePath, ROOT } from './model/namespace.js';
import { decodeSnapshot } from './snapshot/decode.js';
import type { SnapshotFault } from './snapshot/fault.js';
import { digestNamespaces } from './snapshot/digest-cells.js';
import { decisionsFault, FALSE_DECISIONS } from './snapshot/labels.js';

export {
  type AskedInput,
  type DecideInput,
  decide,
  decideAs,
  decideRaw,
  judgeAs,
  judgeRaw,
  type RawInput,
} from './evaluate/decide.js';
export { citeAs, type CiteInput } from './evaluate/cite-together.js';
export { type HeldScope, heldScopes, heldScopesAs } from './evaluate/held-scopes.js';
export { adopt, type LoadResult, packedOf, type PackedPolicy, type PackResult } from './evaluate/open-snapshot.js';
export { openTableFile, TABLE_LAYOUT, tableParts } from './evaluate/table-file.js';
export { type Policy } from './evaluate/policy.js';
export { type RawRequest, type Verdict } from './evaluate/judge-request.js';
export { type RawActor, type ResolvedActor, resolveActor } from './evaluate/resolve-actor.js';
export { steadyAs } from './evaluate/steady.js';
export { unrestrictedLike, unrestrictedPolicy } from './evaluate/policy.js';
export { visibility, visibilityAs, type VisibilityInput } from './evaluate/visibility.js';
export { visibleDifference, type VisibleRegion } from './evaluate/visible-difference.js';
export { type Actor, type ActorKind, LOCAL_ACTOR } from './model/actor.js';
export type {
  Access,
  AccessStep,
  Copy,
  CreateNamespace,
  Decision,
  GrantRef,
  Reach,
  Request,
  Step,
  Visibility,
  VisibilityRequest,
  Visible,
} from './model/decision.js';
export { bytesText, groupDigits, identityFaultText, meantPath, pathFaultText } from './diagnostics/fault-words.js';
export { nearest } from './diagnostics/nearest.js';
export { assertNever, InvariantError } from './model/invariant.js';
export {
  formatIdentity,
  GROUP_SUFFIX,
  type Identity,
  type IdentityFault,
  type IdentityResult,
  isName,
  makeIdentity,
  parseIdentity,
  subjectFault,
} from './model/identity.js';
export { formatInstant, type Instant, instantOf, parseInstant } from './model/instant.js';
export {
  canonicalize,
  type CanonicalizeResult,
  comparePaths,
  isWithin,
  lineageOf,
  NAMESPACE_LIMITS,
  type NamespacePath,
  parentOf,
  type PathFault,
  ROOT,
} from './model/namespace.js';
export { compareTexts } from './model/order.js';
export {
  type Action,
  FAMILIES,
  type Family,
  familyOf,
  isFamily,
  isRecordScope,
  isScopeName,
  type RecordScope,
  SCOPE_PATTERN,
  SCOPES,
  type ScopeName,
} from './model/scope.js';
export { NO_SCOPES, scopeNames, type ScopeSet, scopeSetOf } from './model/scope-set.js';
export {
  ALL_SCOPES,
  carriedByBoth,
  carriedNames,
  carriesAll,
  type CarriedScopes,
  carriesScope,
  type OwnFamily,
  parseScopePattern,
  type Vocabulary,
  vocabularyOf,
} from './model/vocabulary.js';
export type { CheckSum, PolicyChecks } from './model/checks.js';
export type { SnapshotCounts } from './model/tables.js';
export type { SnapshotFault, SnapshotFaultCode } from './snapshot/fault.js';
export { visibilityDigest } from './snapshot/visibility-digest.js';
export {
  decodeEnvelope,
  encodeEnvelope,
  type Envelope,
  type EnvelopeSignature,
  preAuthEncoding,
} from './statement/envelope.js';
export {
  type Expected,
  judgeEnvelope,
  judgeStatement,
  type SignatureReport,
  type StatementFault,
  type StatementReport,
  type VerifySignature,
} from './statement/judge.js';
export { decodeKeyring, formatPublicKey, type Keyring } from './statement/keyring.js';
export { ENGINE_LIMITS, STATEMENT_LIMITS } from './limits.js';
export { keyIdOf } from './statement/public-key.js';
export {
  decodeStatement,
  encodeStatement,
  PAYLOAD_TYPE,
  type PublicationStatement,
  statementFault,
  type StatementSource,
} from './statement/statement.js';

/**
 * Verifies all that a decision depends on before any of it is used. Never throws. Labels are not checked: call `verifyDecisions`
 * before you print or sign the decision digest.
 */
export function loadSnapshot(bytes: Uint8Array): LoadResult {
  return openSnapshot(bytes, decodeSnapshot);
}

/** As `loadSnapshot`, for another thread, which adopts the result: verified, and in one shared buffer. */
export function packSnapshot(bytes: Uint8Array, limits: EngineLimits = ENGINE_LIMITS): PackResult {
  return packDecoded(decodeSnapshot(bytes, limits));
}

/**
 * Computes the decision digest of a loaded policy and compares it with the one that the file states. Null means that they agree.
 * Takes several times as long as loading.
 */
export function verifyDecisions(policy: Policy): SnapshotFault | null {
  const loaded = loadedOf(policy);
  return loaded === null ? null : decisionsFault(loaded, policy.decisions, ENGINE_LIMITS);
}

/** As `loadSnapshot` and then `verifyDecisions`. */
export function verifySnapshot(bytes: Uint8Array, limits: EngineLimits = ENGINE_LIMITS): SnapshotFault | null {
  const decoded = decodeSnapshot(bytes, limits);
  return decoded.ok ? decisionsFault(decoded.snapshot, decoded.snapshot.decisions, limits) : decoded.fault;
}

export interface NamespaceDigest {
  readonly namespace: NamespacePath;
  readonly digest: string;
}

export type NamespaceListing =
  | { readonly ok: true; readonly namespaces: readonly NamespaceDigest[] }
  | { readonly ok: false; readonly fault: SnapshotFault };

/**
 * The digest of each namespace, in path order, the root first. A digest changes exactly if a decision at its namespace or below it
 * changes. The unrestricted policy has the root alone. The root's digest is the decision digest; it is a fault if the file states
 * another one. The work grows with namespaces times the identities whose rights change there, so use this for listings only.
 */
export function namespaceDigests(policy: Policy): NamespaceListing {
  const prepared = preparedOf(policy);
  if (prepared === null) return { ok: true, namespaces: [{ namespace: ROOT, digest: policy.decisions }] };
  const digests = digestNamespaces(prepared.tables, prepared.holders);
  if (digests[0] !== policy.decisions) return { ok: false, fault: FALSE_DECISIONS };
  const namespaces = prepared.paths.map((namespace, row) => ({ namespace, digest: digests[row] ?? policy.decisions }));
  return { ok: true, namespaces };
}
