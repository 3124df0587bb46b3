// All of `check` (design 5): a policy folder is read, linked, compiled in memory, loaded as a gateway would load it, and its
// tests and guardrails are run against what was loaded. Writes nothing; whoever needs a policy from a folder comes here.
import {
  checkGuardrails,
  type CompiledSnapshot,
  compilePolicy,
  type Diagnostic,
  type GuardrailReport,
  type LintOptions,
  lintPolicy,
  CLOCK_RULES,
  openCompiled,
  type PolicySet,
  type PolicyTestReport,
  readPolicy,
  runPolicyTests,
  sortDiagnostics,
} from '../../engine/compiler.js';
import type { Policy } from '../../engine/index.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { CliFailure } from './failure.js';
import { readFolder } from './read-folder.js';
import { count } from './render/count.js';

export interface CheckReport {
  /** 0, 3, 4 or 5. */
  readonly status: ExitStatus;
  /** The name of the policy, or null where it could not be read. */
  readonly policy: string | null;
  /** Paths of the files that were read, relative to the folder. */
  readonly files: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
  /** Those of them for which the policy is invalid: errors, and with `failOn: 'warnings'` lasting warnings. */
  readonly invalidating: readonly Diagnostic[];
  /** Decoded text by file, to show lines of. */
  readonly sources: ReadonlyMap<string, string>;
  readonly tests: PolicyTestReport;
  readonly guardrails: GuardrailReport;
  /** Null if the policy could not be read whole, so that nothing was run. */
  readonly compiled: { readonly set: PolicySet; readonly snapshot: CompiledSnapshot; readonly handle: Policy } | null;
}

const NO_TESTS: PolicyTestReport = Object.freeze({
  passed: 0,
  failed: 0,
  results: Object.freeze([]),
  failures: Object.freeze([]),
  failuresByResult: Object.freeze([]),
  carriers: Object.freeze([]),
});
const NO_GUARDRAILS: GuardrailReport = Object.freeze({ held: 0, violated: 0, violations: Object.freeze([]) });

/** Bytes of policy that are checked within a second anywhere. */
const LARGE = 2 * 1024 * 1024;

export interface CheckRequest {
  /** Absolute. */
  readonly folder: string;
  /** How the user named it. */
  readonly shown: string;
  /** Told what is about to be done, where it may take more than a second. */
  readonly onPhase?: (phase: string) => void;
  /** Verbs that only use a policy do not lint it. */
  readonly lint?: LintRequest;
  /** Given: only tests whose names match are run, and no guardrails are checked. */
  readonly onlyTests?: RegExp;
}

export interface LintRequest extends LintOptions {
  /** `warnings`: a warning makes the policy invalid, but for those that depend on the clock. */
  readonly failOn: 'errors' | 'warnings';
}

/** Checks one folder. Throws `CliFailure` where there is none. */
export async function checkPolicy({ folder, shown, ...request }: CheckRequest): Promise<CheckReport> {
  const reading = await readFolder(folder, shown);
  const bytes = reading.files.reduce((sum, file) => sum + file.bytes.length, 0);
  const onPhase = (bytes < LARGE ? undefined : request.onPhase) ?? ((): void => undefined);
  onPhase(`reading ${count(reading.files.length, 'file')}`);
  const sourceFiles = [...reading.files, ...reading.unread.map((path) => ({ path, bytes: null }))];
  const { diagnostics: found, policy: set, sources, outlines } = readPolicy(sourceFiles);
  const read = {
    policy: set?.name ?? null,
    files: reading.files.map((file) => file.path),
    diagnostics: sortDiagnostics([...reading.diagnostics, ...found]),
    sources,
  };
  const refused = { status: EXIT.policyInvalid, tests: NO_TESTS, guardrails: NO_GUARDRAILS, compiled: null };
  const readErrors = read.diagnostics.filter(isError);
  if (set === null || readErrors.length > 0) return { ...read, ...refused, invalidating: readErrors };
  const { lint } = request;
  if (lint !== undefined) onPhase(`linting ${count(set.grants.length, 'grant')}`);
  const linted = lint === undefined ? [] : lintPolicy({ policy: set, sources, outlines }, lint);
  const diagnostics = sortDiagnostics([...read.diagnostics, ...linted]);
  const invalidates = (one: Diagnostic): boolean => isError(one) || (lint?.failOn === 'warnings' && isLasting(one));
  onPhase(`compiling ${count(set.grants.length, 'grant')}`);
  const result = compilePolicy(set);
  if (!result.ok) {
    const all = sortDiagnostics([...diagnostics, ...result.diagnostics]);
    return { ...read, ...refused, diagnostics: all, invalidating: all.filter(invalidates) };
  }
  const handle = load(result.snapshot);
  const { onlyTests } = request;
  const selected = onlyTests === undefined ? set.tests : set.tests.filter((test) => onlyTests.test(test.name));
  onPhase(`running ${count(selected.length, 'test')}`);
  const tests = runPolicyTests(set, handle, selected);
  if (onlyTests === undefined) onPhase(`checking ${count(set.guardrails.length, 'guardrail')}`);
  const guardrails = onlyTests === undefined ? checkGuardrails(set, handle) : NO_GUARDRAILS;
  const invalidating = diagnostics.filter(invalidates);
  const status =
    invalidating.length > 0
      ? EXIT.policyInvalid
      : tests.failed > 0
        ? EXIT.testsFailed
        : guardrails.violated > 0
          ? EXIT.guardrailViolated
          : EXIT.ok;
  const compiled = { set, snapshot: result.snapshot, handle };
  return { ...read, diagnostics, invalidating, status, tests, guardrails, compiled };
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
  const message = `the compiled snapshot does not load: ${loaded.fault.code}: ${loaded.fault.message}`;
  throw new CliFailure(
    EXIT.unexpected,
    { code: 'cli.unexpected', message },
    { help: 'this is a bug of bailiwick: please report it with the policy' },
  );
}
