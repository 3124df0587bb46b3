// Everything that `check` does: a policy folder is read, linked, compiled in memory and opened, and its tests and guardrails
// run against the result. Writes nothing. Every use of a policy folder goes through
// here.
import {
  checkedDraft,
  checkGuardrails,
  type CompiledSnapshot,
  compilePolicy,
  type Diagnostic,
  type DocumentReader,
  ENGINE_LIMITS,
  type GuardrailReport,
  type RememberedPolicy,
  type LintOptions,
  lintPolicy,
  CLOCK_RULES,
  costOfTests,
  openCompiled,
  openUnread,
  type PolicySet,
  type PolicyTestReport,
  readPolicy,
  rememberingReader,
  runPolicyTests,
  sortDiagnostics,
} from '../../../engine/compiler.js';
import { InvariantError, type NamespacePath, type Policy } from '../../../engine/index.js';
import { POLICY_LIMITS } from '../../limits/policy.js';
import type { FileFault } from '../policy-fault.js';
import type { FolderFiles } from './folder-files.js';
import { type FolderReading, readFolder } from './read-folder.js';

/** If several apply, the first of them after `ok`. */
export type CheckVerdict = 'ok' | 'invalid' | 'tests_failed' | 'guardrails_violated';

export interface CheckReport {
  readonly verdict: CheckVerdict;
  /** The name of the policy, or null if it could not be read. */
  readonly policy: string | null;
  /** Paths of the files that were read, relative to the folder. */
  readonly files: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** The diagnostics that make the policy invalid: errors, and with `failOn: 'warnings'` lasting warnings. */
  readonly invalidating: readonly Diagnostic[];
  /** The decoded text of each file, for showing lines. */
  readonly sources: ReadonlyMap<string, string>;
  readonly tests: PolicyTestReport;
  readonly guardrails: GuardrailReport;
  /** Null if the policy could not be read completely; nothing was run then. */
  readonly compiled: CompiledPolicy | null;
}

export interface CompiledPolicy {
  readonly set: PolicySet;
  /** Null for `digests: false`. */
  readonly snapshot: CompiledSnapshot | null;
  /** Has no digests for `digests: false`. */
  readonly handle: Policy;
  /** For the next check of the folder; null for `digests: false`. */
  readonly known: RememberedPolicy | null;
}

/** What is remembered from one check of a folder to the next. The report is the same with it and without. */
export interface FolderMemory {
  readonly reader: DocumentReader;
  readonly known: RememberedPolicy | null;
}

/** For a folder that was not checked before. */
export function newMemory(): FolderMemory {
  return { reader: rememberingReader(), known: null };
}

const NOT_TESTED: PolicyTestReport = Object.freeze({
  passed: 0,
  failed: 0,
  results: Object.freeze([]),
  failures: Object.freeze([]),
  failuresByResult: Object.freeze([]),
  carriers: Object.freeze([]),
});
const NO_GUARDRAILS: GuardrailReport = Object.freeze({ held: 0, violated: 0, violations: Object.freeze([]) });

/** What is about to be done, and to how many things. */
export interface Phase {
  readonly kind: 'reading' | 'linting' | 'compiling' | 'testing' | 'proving';
  readonly count: number;
}

export type CheckResult =
  { readonly kind: 'checked'; readonly report: CheckReport } | { readonly kind: 'path'; readonly fault: FileFault };

export interface CheckRequest {
  /** An absolute path. */
  readonly folder: string;
  /** Where it is; by default on the disk. */
  readonly files?: FolderFiles;
  /** Told what is about to be done, if it may take more than a second. */
  readonly onPhase?: (phase: Phase) => void;
  /** Verbs that only use a policy do not lint it. */
  readonly lint?: LintRequest;
  /** If given, only tests with matching names run, and guardrails are not checked. */
  readonly onlyTests?: RegExp;
  /** False for verbs that need neither the snapshot nor a digest, which take most of the time. By default true. */
  readonly digests?: boolean;
  /** What an earlier check has left. If it has compiled a policy, the bytes of the snapshot are not read before it is used. */
  readonly memory?: FolderMemory;
}

export interface LintRequest extends Omit<LintOptions, 'stored'> {
  /** `warnings`: warnings make the policy invalid, except those that depend on the clock. */
  readonly failOn: 'errors' | 'warnings';
  /**
   * Returns those of the given namespaces that the store has, and some that may have been meant. If absent, the store is
   * not queried.
   */
  readonly askStore?: (namespaces: readonly NamespacePath[]) => Promise<ReadonlySet<NamespacePath>>;
}

/** Checks one folder. */
export async function checkPolicy({ folder, files, ...request }: CheckRequest): Promise<CheckResult> {
  const reading = await readFolder(folder, files);
  return reading.kind === 'path' ? reading : { kind: 'checked', report: await checkFiles(reading, request) };
}

/** Of `onlyTests`, for whoever needs neither tests nor guardrails. */
export const NO_TESTS = /(?!)/;

export async function checkFiles(
  reading: FolderReading,
  request: Omit<CheckRequest, 'folder' | 'files'>,
): Promise<CheckReport> {
  const bytes = reading.files.reduce((sum, file) => sum + file.bytes.length, 0);
  const onPhase = (kind: Phase['kind'], count: number): void => {
    if (bytes >= POLICY_LIMITS.quietBytes) request.onPhase?.({ kind, count });
  };
  onPhase('reading', reading.files.length);
  const sourceFiles = [...reading.files, ...reading.unread.map((path) => ({ path, bytes: null }))];
  const {
    diagnostics: found,
    policy: set,
    sources,
    outlines,
  } = readPolicy(sourceFiles, ENGINE_LIMITS, request.memory?.reader);
  const read = {
    policy: set?.name ?? null,
    files: reading.files.map((file) => file.path),
    diagnostics: sortDiagnostics([...reading.diagnostics, ...found]),
    sources,
  };
  const refused = { verdict: 'invalid', tests: NOT_TESTED, guardrails: NO_GUARDRAILS, compiled: null } as const;
  const readErrors = read.diagnostics.filter(isError);
  if (set === null || readErrors.length > 0) return { ...read, ...refused, invalidating: readErrors };
  const { lint } = request;
  if (lint !== undefined) onPhase('linting', set.grants.length);
  const stored = await lint?.askStore?.([...new Set(set.grants.map(({ namespace }) => namespace))]);
  const options = lint === undefined || stored === undefined ? lint : { ...lint, stored };
  const linted = options === undefined ? [] : lintPolicy({ policy: set, sources, outlines }, options);
  const diagnostics = sortDiagnostics([...read.diagnostics, ...linted]);
  const invalidates = (one: Diagnostic): boolean => isError(one) || (lint?.failOn === 'warnings' && isLasting(one));
  onPhase('compiling', set.grants.length);
  const result = request.digests === false ? draft(set) : compile(set, request.memory?.known ?? null);
  if (!result.ok) {
    const all = sortDiagnostics([...diagnostics, ...result.diagnostics]);
    return { ...read, ...refused, diagnostics: all, invalidating: all.filter(invalidates) };
  }
  const { handle } = result.compiled;
  const tooLong = costOfTests(set, handle);
  if (tooLong !== null) {
    const all = sortDiagnostics([...diagnostics, tooLong]);
    return { ...read, ...refused, diagnostics: all, invalidating: all.filter(invalidates) };
  }
  const { onlyTests } = request;
  const selected = onlyTests === undefined ? set.tests : set.tests.filter((test) => onlyTests.test(test.name));
  onPhase('testing', selected.length);
  const tests = runPolicyTests(set, handle, { tests: selected });
  if (onlyTests === undefined) onPhase('proving', set.guardrails.length);
  const guardrails = onlyTests === undefined ? checkGuardrails(set, handle) : NO_GUARDRAILS;
  const invalidating = diagnostics.filter(invalidates);
  const verdict =
    invalidating.length > 0
      ? 'invalid'
      : tests.failed > 0
        ? 'tests_failed'
        : guardrails.violated > 0
          ? 'guardrails_violated'
          : 'ok';
  return { ...read, diagnostics, invalidating, verdict, tests, guardrails, compiled: result.compiled };
}

type Compiling =
  | { readonly ok: true; readonly compiled: CompiledPolicy }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

function compile(set: PolicySet, before: RememberedPolicy | null): Compiling {
  const result = compilePolicy(set, ENGINE_LIMITS, before);
  if (!result.ok) return result;
  const { snapshot, known } = result;
  const handle = before === null ? load(snapshot) : openUnread(set, snapshot);
  return { ok: true, compiled: { set, snapshot, handle, known } };
}

/** Refuses what `compile` refuses. */
function draft(set: PolicySet): Compiling {
  const result = checkedDraft(set);
  return result.ok ? { ok: true, compiled: { set, snapshot: null, handle: result.policy, known: null } } : result;
}

/** A warning that does not come and go with the clock. */
function isLasting({ severity, code }: Diagnostic): boolean {
  return severity === 'warning' && !CLOCK_RULES.has(code);
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity === 'error';
}

function load(snapshot: CompiledSnapshot): Policy {
  const loaded = openCompiled(snapshot);
  if (loaded.ok) return loaded.policy;
  throw new InvariantError(`the compiled snapshot does not load: ${loaded.fault.code}: ${loaded.fault.message}`);
}
