// The files of a policy as the page reads them. What can be asked of a policy needs no more than its declarations, so it is there long
// before lint, digests, tests and guardrails, which a second worker computes.
import {
  type AccessMap,
  checkGuardrails,
  compilePolicy,
  costOfTests,
  type Diagnostic,
  type DocumentReader,
  draftPolicy,
  ENGINE_LIMITS,
  lintPolicy,
  makeAccessMap,
  openCompiled,
  type PolicySet,
  type PolicyReading,
  readPolicy,
  runPolicyTests,
  sortDiagnostics,
  type SourceFile,
} from '../../../engine/compiler.js';
import { type Instant, InvariantError, loadSnapshot, type Policy } from '../../../engine/index.js';
import type { Proofs, TextFile } from './protocol.js';

/** What questions are answered from. */
export interface OpenPolicy {
  /** Null of a snapshot, which has neither people nor tests nor guardrails. */
  readonly set: PolicySet | null;
  /** A draft of files has no digests. */
  readonly policy: Policy;
  /** Both are empty of a snapshot. */
  readonly sources: ReadonlyMap<string, string>;
  readonly files: readonly TextFile[];
  readonly map: AccessMap;
}

export interface Reading {
  readonly diagnostics: readonly Diagnostic[];
  readonly names: PolicyReading['names'];
  /** Null if a mistake is an error. */
  readonly open: OpenPolicy | null;
}

type Phase = (doing: string) => void;

const SOON = 30 * 24 * 60 * 60 * 1000;

/** Reads what changed since the last time. */
function readFiles(files: readonly TextFile[], reader: DocumentReader): PolicyReading {
  return readPolicy(sourcesOf(files), ENGINE_LIMITS, reader);
}

export function sourcesOf(files: readonly TextFile[]): readonly SourceFile[] {
  const encoder = new TextEncoder();
  return files.map(({ path, text }) => ({ path, bytes: encoder.encode(text) }));
}

export function openFiles(files: readonly TextFile[], reader: DocumentReader, onPhase: Phase): Reading {
  onPhase('reading');
  const { policy: set, diagnostics, names, sources } = readFiles(files, reader);
  if (set === null) return { diagnostics, names, open: null };
  onPhase('numbering');
  const policy = draftPolicy(set);
  // Past a limit: the other worker says which.
  if (policy === null) return { diagnostics, names, open: null };
  return { diagnostics, names, open: { set, policy, sources, files, map: makeAccessMap(policy) } };
}

export interface Proving {
  readonly files: readonly TextFile[];
  readonly at: Instant;
}

/** Everything that `bailiwick check` says: every mistake at once, then tests and guardrails. */
export function proveFiles(
  { files, at }: Proving,
  reader: DocumentReader,
  onPhase: Phase,
): { readonly diagnostics: readonly Diagnostic[]; readonly proofs: Proofs | null } {
  onPhase('reading');
  const read = readFiles(files, reader);
  if (read.policy === null) return { diagnostics: read.diagnostics, proofs: null };
  const set = read.policy;
  onPhase('linting');
  const linted = lintPolicy({ ...read, policy: set }, { at, soonMilliseconds: SOON, levels: new Map() });
  const diagnostics = sortDiagnostics([...read.diagnostics, ...linted]);
  onPhase('compiling');
  const compiled = compilePolicy(set);
  if (!compiled.ok) return { diagnostics: sortDiagnostics([...diagnostics, ...compiled.diagnostics]), proofs: null };
  const loaded = openCompiled(compiled.snapshot);
  if (!loaded.ok) throw new InvariantError(`the compiled snapshot does not load: ${loaded.fault.message}`);
  const { policy } = loaded;
  const tooLong = costOfTests(set, policy);
  if (tooLong !== null) return { diagnostics: sortDiagnostics([...diagnostics, tooLong]), proofs: null };
  onPhase('running tests');
  const tests = runPolicyTests(set, policy, { tests: set.tests });
  onPhase('checking guardrails');
  const guardrails = checkGuardrails(set, policy);
  return {
    diagnostics,
    proofs: {
      snapshot: policy.digest,
      tests: { passed: tests.passed, failures: tests.failures },
      guardrails: {
        held: guardrails.held,
        violations: guardrails.violations.map(({ guardrail, requires, file, line, witnesses, repair }) => ({
          ...{ guardrail, requires, file, line, repair: repair.map(({ id }) => id) },
          witnesses: witnesses.map(
            (one) =>
              `${one.identities.join(', ')} at ${one.namespace}${one.extent === 'exact' ? '' : ' and below'}: ${one.scopes.join(', ')}`,
          ),
        })),
      },
    },
  };
}

/** The compiled policy in these bytes, or why it is none. It is verified as a gateway verifies it. */
export function openSnapshot(bytes: Uint8Array): OpenPolicy | string {
  const loaded = loadSnapshot(bytes);
  if (!loaded.ok) return loaded.fault.message;
  const { policy } = loaded;
  return { set: null, policy, sources: new Map(), files: [], map: makeAccessMap(policy) };
}
