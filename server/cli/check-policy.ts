// All of `check` (design 5): a policy folder is read, linked, compiled in memory, loaded as a gateway would load it, and its
// tests and guardrails are run against what was loaded. Writes nothing; whoever needs a policy from a folder comes here.
import {
  checkGuardrails,
  type CompiledSnapshot,
  compilePolicy,
  type Diagnostic,
  type GuardrailReport,
  type PolicySet,
  type PolicyTestReport,
  readPolicy,
  runPolicyTests,
  sortDiagnostics,
} from '../../engine/compiler.js';
import { loadSnapshot, type Policy } from '../../engine/index.js';
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
  /** Decoded text by file, to show lines of. */
  readonly sources: ReadonlyMap<string, string>;
  readonly tests: PolicyTestReport;
  readonly guardrails: GuardrailReport;
  /** Null if a diagnostic is an error. */
  readonly compiled: { readonly set: PolicySet; readonly snapshot: CompiledSnapshot; readonly handle: Policy } | null;
}

const NO_TESTS: PolicyTestReport = Object.freeze({ passed: 0, failed: 0, failures: Object.freeze([]) });
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
}

/** Checks one folder. Throws `CliFailure` where there is none. */
export async function checkPolicy({ folder, shown, ...request }: CheckRequest): Promise<CheckReport> {
  const reading = await readFolder(folder, shown);
  const bytes = reading.files.reduce((sum, file) => sum + file.bytes.length, 0);
  const onPhase = (bytes < LARGE ? undefined : request.onPhase) ?? ((): void => undefined);
  onPhase(`reading ${count(reading.files.length, 'file')}`);
  const {
    diagnostics,
    policy: set,
    sources,
  } = readPolicy([...reading.files, ...reading.unread.map((path) => ({ path, bytes: null }))]);
  const read = {
    policy: set?.name ?? null,
    files: reading.files.map((file) => file.path),
    diagnostics: sortDiagnostics([...reading.diagnostics, ...diagnostics]),
    sources,
  };
  const refused = { status: EXIT.policyInvalid, tests: NO_TESTS, guardrails: NO_GUARDRAILS, compiled: null };
  if (set === null || read.diagnostics.some(isError)) return { ...read, ...refused };
  onPhase(`compiling ${count(set.grants.length, 'grant')}`);
  const result = compilePolicy(set);
  if (!result.ok)
    return { ...read, ...refused, diagnostics: sortDiagnostics([...read.diagnostics, ...result.diagnostics]) };
  const handle = load(result.snapshot.bytes);
  onPhase(`running ${count(set.tests.length, 'test')}`);
  const tests = runPolicyTests(set, handle);
  onPhase(`checking ${count(set.guardrails.length, 'guardrail')}`);
  const guardrails = checkGuardrails(set, handle);
  const status = tests.failed > 0 ? EXIT.testsFailed : guardrails.violated > 0 ? EXIT.guardrailViolated : EXIT.ok;
  return { ...read, status, tests, guardrails, compiled: { set, snapshot: result.snapshot, handle } };
}

function isError(diagnostic: Diagnostic): boolean {
  return diagnostic.severity === 'error';
}

function load(bytes: Uint8Array): Policy {
  const loaded = loadSnapshot(bytes);
  if (loaded.ok) return loaded.policy;
  const message = `the compiled snapshot does not load: ${loaded.fault.code}: ${loaded.fault.message}`;
  throw new CliFailure(
    EXIT.unexpected,
    { code: 'cli.unexpected', message },
    { help: 'this is a bug of bailiwick: please report it with the policy' },
  );
}
