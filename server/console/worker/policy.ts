// Reads the files of a policy, as `bailiwick check` does, in the page: every mistake at once, then tests and guardrails.
import {
  checkGuardrails,
  compilePolicy,
  costOfTests,
  type Diagnostic,
  type GuardrailReport,
  lintPolicy,
  makeAccessMap,
  type AccessMap,
  openCompiled,
  type PolicySet,
  type PolicyTestReport,
  readPolicy,
  runPolicyTests,
  sortDiagnostics,
} from '../../../engine/compiler.js';
import { type Instant, InvariantError, type Policy } from '../../../engine/index.js';
import type { TextFile } from './protocol.js';

export interface OpenPolicy {
  readonly set: PolicySet;
  readonly policy: Policy;
  readonly sources: ReadonlyMap<string, string>;
  readonly tests: PolicyTestReport;
  readonly guardrails: GuardrailReport;
  readonly map: AccessMap;
}

export interface Reading {
  readonly diagnostics: readonly Diagnostic[];
  /** Null if a mistake is an error. */
  readonly open: OpenPolicy | null;
}

const SOON = 30 * 24 * 60 * 60 * 1000;

export function openFiles(files: readonly TextFile[], at: Instant, onPhase: (doing: string) => void): Reading {
  const encoder = new TextEncoder();
  onPhase('reading');
  const read = readPolicy(files.map(({ path, text }) => ({ path, bytes: encoder.encode(text) })));
  if (read.policy === null) return { diagnostics: read.diagnostics, open: null };
  const set = read.policy;
  onPhase('linting');
  const linted = lintPolicy({ ...read, policy: set }, { at, soonMilliseconds: SOON, levels: new Map() });
  const diagnostics = sortDiagnostics([...read.diagnostics, ...linted]);
  onPhase('compiling');
  const compiled = compilePolicy(set);
  if (!compiled.ok) return { diagnostics: sortDiagnostics([...diagnostics, ...compiled.diagnostics]), open: null };
  const loaded = openCompiled(compiled.snapshot);
  if (!loaded.ok) throw new InvariantError(`the compiled snapshot does not load: ${loaded.fault.message}`);
  const { policy } = loaded;
  const tooLong = costOfTests(set, policy);
  if (tooLong !== null) return { diagnostics: sortDiagnostics([...diagnostics, tooLong]), open: null };
  onPhase('running tests');
  const tests = runPolicyTests(set, policy, { tests: set.tests });
  onPhase('checking guardrails');
  const guardrails = checkGuardrails(set, policy);
  return {
    diagnostics,
    open: { set, policy, sources: read.sources, tests, guardrails, map: makeAccessMap(policy) },
  };
}
