// What authoring tools import: it reads a folder's files into a policy, and compiles a policy into a snapshot's bytes. The gateway's
// request path must not import it.
import { compileTables } from './compile/compile-tables.js';
import { ENGINE_LIMITS, type EngineLimits } from './limits.js';
import { type LoadResult, openSnapshot, openTables } from './evaluate/open-snapshot.js';
import { loadedOf, type Policy } from './evaluate/policy.js';
import { linkPolicy } from './link/link-policy.js';
import type { Diagnostic } from './diagnostics/diagnostic.js';
import type { PolicyDocument } from './model/document.js';
import { groupDigits } from './diagnostics/fault-words.js';
import type { FileOutline, Place, PolicySet } from './model/policy-set.js';
import { countPairs } from './model/exclusions.js';
import { invariant, InvariantError } from './model/invariant.js';
import { pastNamespaces } from './model/namespace.js';
import { compareTexts } from './model/order.js';
import type { PolicyTables } from './model/tables.js';
import { makeDiagnostic, makeSink } from './diagnostics/report.js';
import { rangeOf } from './model/span.js';
import { pastExceptions } from './snapshot/resolve-parties.js';
import { digestChecks } from './snapshot/checks.js';
import { decodeSnapshot } from './snapshot/decode.js';
import { digestCells, type KnownDigests } from './snapshot/digest-cells.js';
import { digestOfParts } from './snapshot/hash.js';
import { type CompiledSnapshot, sealSnapshot } from './snapshot/encode.js';
import { SNAPSHOT_FORMAT } from './snapshot/document.js';
import { isSurelyWithin, type KnownSizes } from './snapshot/within-limits.js';
import type { Words } from './source/context.js';
import { type ReadDocument, readDocument, unreadDocument, wordsOf } from './source/read-document.js';
import { type NamePlace, namesOf } from './source/names.js';
import type { DocumentReader } from './source/remember-documents.js';
import { HEADER_FILE } from './source/shapes.js';
import { acceptFiles, type SourceFile } from './source/accept-files.js';

export { ENGINE_LIMITS, type EngineLimits } from './limits.js';
export { formatFile, type Formatting } from './format/format-file.js';
export { takeOut, type TakenOut } from './format/take-out.js';
export type { Severity } from './diagnostics/codes/page.js';
export type { Diagnostic, Related } from './diagnostics/diagnostic.js';
export { lineOf, type Position, type Range } from './model/span.js';
export {
  type CodePage,
  codePage,
  type DiagnosticCode,
  type LintCode,
  PROBLEM_CODES,
  type ProblemCode,
} from './diagnostics/diagnostic-codes.js';
export {
  CLOCK_RULES,
  isLintCode,
  LINT_CODES,
  type LintLevel,
  type LintOptions,
  lintPolicy,
} from './lint/lint-policy.js';
export type { FileOutline, PolicyGuardrail, PolicySet, PolicyTest } from './model/policy-set.js';
export { scopePatterns } from './model/vocabulary.js';
export { makeDiagnostic, sortDiagnostics } from './diagnostics/report.js';
export {
  type Calendar,
  type CalendarChange,
  calendarOf,
  type CalendarRequest,
  type CalendarRow,
} from './prove/diff/calendar.js';
export type { Cause, ChangeKind } from './prove/diff/causes.js';
export type { Turn } from './prove/diff/turn-causes.js';
export type { CellRow } from './prove/cells/rows.js';
export { diffDrafts, diffPolicies, type DiffReport, type DiffRow } from './prove/diff/diff-policies.js';
export { type Emergent, findEmergent, type ReviewedChange } from './prove/diff/emergent.js';
export type { Change, CredentialChange, Edit } from './prove/explain/edits.js';
export type { Removal } from './prove/explain/removals.js';
export {
  type Closes,
  type ClosingEdit,
  takeAway,
  takingAway,
  type TakenAway,
  type TakingChange,
} from './prove/explain/take-away.js';
export { editedSet } from './prove/explain/edited-set.js';
export { type CheckEffects, type ProvedEdit, proveEdits, provingEdits } from './prove/explain/prove-edits.js';
export { explain, type ExplainedStep, type ExplainRequest, type Explanation } from './prove/explain/explain.js';
export { checkGuardrails, type GuardrailReport, type GuardrailViolation } from './prove/guardrails/check-guardrails.js';
export type { NearestMiss } from './prove/tests/nearest-miss.js';
export { coverGrants, coveredPercent, type GrantCoverage } from './prove/tests/coverage.js';
export { type PolicyTestFailure, type PolicyTestReport, runPolicyTests } from './prove/tests/policy-tests.js';
export { type GrantRow, type PolicyRows, policyRows, type PrincipalRow } from './prove/ask/policy-rows.js';
export { type HeldRegion, type Unknown, unknownPart, whatCan } from './prove/ask/what-can.js';
export {
  type Access,
  accessKey,
  accessOf,
  accessOfAll,
  type AccessStep,
  type ScopesSince,
} from './prove/access/access-steps.js';
export { type AccessMap, type Counting, makeAccessMap, type MapRole } from './prove/map/access-map.js';
export { type ChangeMap, type ChangeRow, makeChangeMap } from './prove/map/change-map.js';
export { countIn, type Tally } from './prove/map/tally.js';
export { unknownPlace } from './prove/ask/what-can.js';
export {
  findUnused,
  type Kept,
  type Smaller,
  type Unused,
  type UnusedRight,
  withoutRights,
} from './prove/unused/find-unused.js';
export { makeNeeds, type Need, type Needs, type Seen } from './prove/unused/needs.js';
export { knownGrants } from './prove/ask/policy-rows.js';
export { promisedBy } from './prove/unused/needs.js';
export { type Rights, rightsOf } from './prove/unused/rights.js';
export { type Holder, whoCan, type WhoCanRequest } from './prove/ask/who-can.js';
export type { ChainLink, CitedGrant, CitedRole, HeldGrant } from './prove/cells/held-grants.js';
export type { Nodes } from './prove/cells/nodes.js';
export type { Region } from './prove/cells/regions.js';
export { type HeldRight, heldRights, type RightsSelection } from './prove/review/held-rights.js';
export {
  type ReviewedRight,
  reviewRights,
  type RightNow,
  type RightsNow,
  type RightState,
  type StillHeld,
} from './prove/review/review-rights.js';
export { GROUP_SUFFIX } from './model/identity.js';
export type { Witness, WitnessCells, WitnessGrant } from './prove/guardrails/witness.js';
export type { WitnessPart, WitnessPerson } from './prove/guardrails/witness-people.js';
export { costOfTests } from './prove/tests/test-cost.js';
export type { Hunk, PatchedFile } from './patch/edited-files.js';
export { type Patch, patchFiles } from './patch/patch-files.js';
export { acceptedFindings } from './lint/ignores.js';
export { areChecksWeaker, type CheckedPolicy, type ChecksDiff, diffChecks } from './snapshot/diff-checks.js';
export { type CheckedChange, type EmergentCheck, emergentChecks } from './snapshot/emergent-checks.js';
export type { CompiledSnapshot } from './snapshot/encode.js';
export type { KnownSizes } from './snapshot/within-limits.js';
export { type PolicyFileKind, policySchema } from './source/json-schema.js';
export { type LanguageMapping, policyLanguage } from './source/language.js';
export {
  hiddenFolderRefusal,
  hiddenRefusal,
  isForeignFolder,
  mayMatter,
  nameRefusal,
  readsLikePolicy,
  type SourceFile,
  textRefusal,
} from './source/accept-files.js';
export type { NameKind, NamePlace } from './source/names.js';
export { type DocumentReader, rememberingReader } from './source/remember-documents.js';
export type { JsonSchema } from './source/texts.js';
export { readYaml, type YamlReading, type YamlValue } from './source/read-yaml.js';

/**
 * A file that exists but could not be read; whoever tried has reported that. Names that it may declare are not reported as missing.
 */
export interface UnreadFile {
  readonly path: string;
  readonly bytes: null;
}

export interface PolicyReading {
  /** Sorted by file, position and code; byte-stable. */
  readonly diagnostics: readonly Diagnostic[];
  /** Null if and only if a diagnostic is an error. */
  readonly policy: PolicySet | null;
  /** The text of each file by its path, with LF line ends: places in diagnostics are places in it. */
  readonly sources: ReadonlyMap<string, string>;
  /** By path, the names that a file declares and uses, as far as it could be read. Made on first use; for editors. */
  readonly names: () => ReadonlyMap<string, readonly NamePlace[]>;
  /** Facts about each file that lint needs. */
  readonly outlines: readonly FileOutline[];
}

/**
 * Reads and links the files of a policy folder. Paths are relative to the folder, with `/`, and each occurs once. One run finds all
 * mistakes. The order of the files has no meaning. For many versions of one policy, `reader` may be one `rememberingReader`.
 */
export function readPolicy(
  files: readonly (SourceFile | UnreadFile)[],
  limits: EngineLimits = ENGINE_LIMITS,
  reader: DocumentReader = readDocument,
): PolicyReading {
  const sink = makeSink(limits);
  const sources = new Map<string, string>();
  const documents: PolicyDocument[] = [];
  const sorted = [...files].sort((a, b) => compareTexts(a.path, b.path));
  const accepted = acceptFiles(
    sorted.filter((file): file is SourceFile => file.bytes !== null),
    limits,
    sink,
  );
  const read = (file: SourceFile | UnreadFile, words?: Words): ReadDocument =>
    file.bytes !== null && accepted.has(file)
      ? reader(file, { limits, sink, ...(words === undefined ? {} : { words }) })
      : unreadDocument(file.path);
  // What scopes other files may name, this one says.
  const head = sorted.find((file) => file.path === HEADER_FILE);
  const header = head === undefined ? null : read(head);
  const words = header === null ? undefined : wordsOf(header.document);
  for (const file of sorted) {
    const { document, text } = file === head && header !== null ? header : read(file, words);
    documents.push(document);
    sources.set(file.path, text);
  }
  if (!sorted.some((file) => file.path === HEADER_FILE)) {
    const help = `add a \`${HEADER_FILE}\` with \`bailiwick: 1\`, \`name\` and \`providers\``;
    sink.add({ code: 'POLICY_MISSING', file: HEADER_FILE, message: `the folder has no \`${HEADER_FILE}\``, help });
  }
  const policy = linkPolicy(documents, limits, sink);
  const names = (): ReadonlyMap<string, readonly NamePlace[]> =>
    new Map(documents.map((document) => [document.file, namesIn(document)]));
  return { diagnostics: sink.diagnostics(), policy, sources, names, outlines: documents.map(outlineOf) };
}

/** By document: one that is remembered has the same names in each version of the policy. */
const knownNames = new WeakMap<PolicyDocument, readonly NamePlace[]>();

function namesIn(document: PolicyDocument): readonly NamePlace[] {
  const names = knownNames.get(document) ?? namesOf(document);
  knownNames.set(document, names);
  return names;
}

function outlineOf({ file, lines, within, grants, grantsKey }: PolicyDocument): FileOutline {
  const hasGrants = grantsKey !== null && grants.length > 0;
  return { file, within: within?.value ?? null, grantsAt: hasGrants ? rangeOf(lines, grantsKey) : null };
}

/** A version of a policy that was compiled. It spares the next one most of the work on what has not changed. */
export interface RememberedPolicy {
  readonly set: PolicySet;
  readonly digests: KnownDigests | null;
}

export type CompileResult =
  | {
      readonly ok: true;
      readonly snapshot: CompiledSnapshot;
      readonly known: RememberedPolicy;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** For members with a window, each grant of the role has a row of its own. */
const MEMBERS_HELP = 'give fewer members a window, or put those with the same window into a role of their own';

/**
 * Fails only if the policy is larger than the limits allow. `before` is what compiling an earlier version has given: the result is the
 * same with it and without.
 */
export function compilePolicy(
  set: PolicySet,
  limits: EngineLimits = ENGINE_LIMITS,
  before: RememberedPolicy | null = null,
): CompileResult {
  const refused = tooLargeToNumber(set, limits);
  if (refused !== null) return refused;
  const { tables, isTooLarge, holders: holdersWithin } = compileTables(set, before?.set);
  if (isTooLarge)
    return tooLarge(`the decision table would have more than ${groupDigits(limits.grants)} grants`, MEMBERS_HELP);
  const holders = holdersWithin(limits.expandedRows);
  const digests = holders === null ? null : digestCells(tables, holders, { limits, before: before?.digests ?? null });
  if (holders === null || digests === null || digests === 'expandedRows')
    return tooLarge(`the decision table would have more than ${groupDigits(limits.expandedRows)} rows`, EXPANDED_HELP);
  if (digests === 'intervals') {
    const found = `the rights of identities would change more than ${groupDigits(limits.intervals)} times`;
    return tooLarge(`${found}, counted in every namespace where they do`, INTERVALS_HELP);
  }
  const snapshot = sealSnapshot(tables, { checks: digestChecks(set), decisions: digests.decisions });
  if (snapshot === null || snapshot.bytes.length > limits.snapshotBytes) {
    return tooLarge(`the snapshot would have more than ${groupDigits(limits.snapshotBytes)} bytes`, EXPANDED_HELP);
  }
  return { ok: true, snapshot, known: { set, digests: digests.known } };
}

/** What is looked at before anything is numbered. */
function tooLargeToNumber(set: PolicySet, limits: EngineLimits): CompileResult | null {
  if (
    pastNamespaces(
      set.grants.map(({ namespace }) => namespace),
      limits.namespaces,
    ) >= 0
  )
    return tooLarge(`the policy would have more than ${groupDigits(limits.namespaces)} namespaces`, 'split the policy');
  if (countPairs(set.exclusive.map(({ identities }) => identities.length)) > limits.exclusive)
    return tooLarge(`the policy would have more than ${groupDigits(limits.exclusive)} exclusive pairs`, PAIRS_HELP);
  const past = pastExceptions(set, limits.exceptions);
  if (past !== null) {
    const message = `\`except\` of the guardrails would name more than ${groupDigits(limits.exceptions)} members of roles, counted once for each guardrail`;
    return tooLarge(message, 'have fewer guardrails that leave out large roles', past.place);
  }
  return null;
}

/**
 * The policy that declarations make, to ask about before it is compiled: it decides by the same tables, and its digests are empty texts.
 * Null if the policy is larger than the limits allow; `compilePolicy` says how. `before` is an earlier version, if there is one.
 */
export function draftPolicy(
  set: PolicySet,
  limits: EngineLimits = ENGINE_LIMITS,
  before: PolicySet | null = null,
): Policy | null {
  if (tooLargeToNumber(set, limits) !== null) return null;
  const { tables, isTooLarge, holders: holdersWithin } = compileTables(set, before);
  const holders = isTooLarge ? null : holdersWithin(limits.expandedRows);
  return holders === null ? null : openTables({ tables, holders }, NO_DIGESTS, digestOfTexts(tables));
}

/** A draft has no digest, and its hashes must not start where an author can know either (table/slots.ts). */
function digestOfTexts({ providers, identities, segments }: PolicyTables): string {
  return digestOfParts([providers, identities.subject, segments]);
}

export type DraftResult =
  | {
      readonly ok: true;
      readonly policy: Policy;
      /** Spares the next version most of the counting. Null where it would not. */
      readonly sizes: KnownSizes | null;
    }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/** What is known already. */
interface DraftGround {
  /** The sizes of an earlier version. */
  readonly before?: KnownSizes | null;
  /** What `draftPolicy` has given for the same set. */
  readonly policy?: Policy | null;
}

/**
 * Like `draftPolicy`, for callers who report what is wrong: refuses exactly what `compilePolicy` refuses, with the same diagnostics. Takes
 * a fraction of the time, because it makes neither the file nor the digests, except for sizes near the limits.
 */
export function checkedDraft(
  set: PolicySet,
  limits: EngineLimits = ENGINE_LIMITS,
  { before = null, policy = draftPolicy(set, limits) }: DraftGround = {},
): DraftResult {
  if (policy !== null) {
    const drafted = loadedOf(policy);
    const within = drafted && isSurelyWithin(drafted.tables, drafted.holders, { limits, before });
    if (within?.isSure === true) return { ok: true, policy, sizes: within.sizes };
  }
  const compiled = compilePolicy(set, limits);
  if (!compiled.ok) return compiled;
  invariant(policy !== null, 'what compiles is a draft too');
  return { ok: true, policy, sizes: null };
}

const NO_DIGESTS = { digest: '', decisions: '', format: SNAPSHOT_FORMAT, checks: null };

/** A policy in which nobody holds anything. */
export function emptyPolicy(): Policy {
  const nothing = {
    providers: [],
    exclusive: [],
    folders: [],
    roles: [],
    people: [],
    grants: [],
    tests: [],
    guardrails: [],
  };
  const compiled = compilePolicy({ name: 'empty', ...nothing });
  const loaded = compiled.ok ? openCompiled(compiled.snapshot) : null;
  if (loaded?.ok === true) return loaded.policy;
  throw new InvariantError('a policy without grants compiles');
}

/** The policy that a gateway would load from these bytes. */
export function openCompiled(compiled: CompiledSnapshot): LoadResult {
  return openSnapshot(compiled.bytes, decodeSnapshot);
}

/**
 * The same policy, opened by the tables that the snapshot was made of: its bytes are not read, which takes a third of the time. `set` is
 * what was compiled.
 */
export function openUnread(set: PolicySet, { digest, decisions }: CompiledSnapshot): Policy {
  const { tables, holders: holdersWithin } = compileTables(set);
  const holders = holdersWithin(ENGINE_LIMITS.expandedRows);
  invariant(holders !== null, 'what was compiled is within the limits');
  return openTables({ tables, holders }, { digest, decisions, format: SNAPSHOT_FORMAT, checks: digestChecks(set) });
}

const PAIRS_HELP = 'a list of `exclusive` has a pair for each two of its identities: write shorter lists';
const EXPANDED_HELP = 'let fewer grants go to roles with many members, or split the policy';
const INTERVALS_HELP =
  'drop grants that have expired, and give the rest their `notBefore` and `expires` at fewer different instants';

function tooLarge(message: string, help: string, place: Place | null = null): CompileResult {
  const where = place === null ? { file: 'policy.yaml' } : { file: place.file, range: rangeOf(place.lines, place) };
  return { ok: false, diagnostics: [makeDiagnostic({ code: 'LIMIT_EXPANDED', ...where, message, help })] };
}
