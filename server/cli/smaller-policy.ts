// A policy folder without some of its rights: its files, what they compile to, who loses what by it, and which tests and guardrails it
// breaks. The files are read again and compared with what was meant.
import {
  checkGuardrails,
  type ChecksDiff,
  compilePolicy,
  type CompiledSnapshot,
  diffChecks,
  diffPolicies,
  type DiffReport,
  openCompiled,
  type PolicySet,
  readPolicy,
  type Rights,
  runPolicyTests,
  scopePatterns,
  type Smaller,
  takeOut,
  withoutRights,
} from '../../engine/compiler.js';
import { sideOf } from './compare-policies.js';
import { InvariantError, type Policy, scopeNames, scopeSetOf, vocabularyOf } from '../../engine/index.js';

export interface SmallerPolicy {
  readonly policy: Policy;
  /** Every file of the folder, by its path. */
  readonly files: ReadonlyMap<string, string>;
  /** The paths of those that differ. */
  readonly changed: readonly string[];
}

export interface Folder {
  readonly set: PolicySet;
  readonly policy: Policy;
  readonly sources: ReadonlyMap<string, string>;
}

export function makeSmaller({ set, sources }: Folder, rights: Rights, smaller: Smaller): SmallerPolicy {
  const items = new Map<string, number[]>();
  const scopes = new Map<string, Map<number, readonly string[]>>();
  const take = (place: { readonly file: string; readonly start: number } | null): void => {
    if (place === null) throw new InvariantError('what a folder declares has a place');
    items.set(place.file, [...(items.get(place.file) ?? []), place.start]);
  };
  for (const at of smaller.grants) take(rights.grants[at]?.place ?? null);
  for (const at of smaller.memberships) take(rights.memberships[at]?.member.place ?? null);
  const vocabulary = vocabularyOf(set);
  for (const [at, gone] of smaller.scopes) {
    const grant = rights.grants[at];
    if (grant === undefined || grant.place === null) throw new InvariantError('what a folder declares has a place');
    const left = scopeSetOf(scopeNames(grant.scopes).filter((scope) => !gone.has(scope)));
    const inFile = scopes.get(grant.place.file) ?? new Map<number, readonly string[]>();
    scopes.set(grant.place.file, inFile.set(grant.place.start, scopePatterns(left, vocabulary)));
  }
  const changed = [...new Set([...items.keys(), ...scopes.keys()])].sort();
  const files = new Map(sources);
  for (const path of changed) {
    const taken = {
      items: (items.get(path) ?? []).sort((a, b) => a - b),
      scopes: scopes.get(path) ?? new Map<number, string[]>(),
    };
    files.set(path, takeOut({ path, text: sources.get(path) ?? '' }, taken));
  }
  const policy = read(files);
  const meant = openCompiled(compiled(withoutRights(set, smaller)));
  if (!meant.ok || meant.policy.decisions !== policy.decisions)
    throw new InvariantError('the files of the smaller policy do not mean what was intended');
  return { policy, files, changed };
}

function read(files: ReadonlyMap<string, string>): Policy {
  const opened = openCompiled(compiled(setOf(files)));
  if (!opened.ok) throw new InvariantError(`the smaller policy cannot be loaded: ${opened.fault.message}`);
  return opened.policy;
}

function setOf(files: ReadonlyMap<string, string>): PolicySet {
  const { policy, diagnostics } = readPolicy([...files].map(([path, text]) => ({ path, bytes: Buffer.from(text) })));
  if (policy === null) throw new InvariantError(`the smaller policy cannot be read: ${diagnostics[0]?.message ?? ''}`);
  return policy;
}

function compiled(set: PolicySet): CompiledSnapshot {
  const result = compilePolicy(set);
  if (!result.ok) throw new InvariantError('a smaller policy cannot be too large');
  return result.snapshot;
}

export interface Effect {
  readonly report: DiffReport;
  readonly checks: ChecksDiff;
  /** What held before and does not any more: names of tests, ids of guardrails. */
  readonly breaks: { readonly tests: readonly string[]; readonly guardrails: readonly string[] };
}

export function effectOf({ set, policy, sources }: Folder, smaller: SmallerPolicy): Effect {
  const changed = setOf(smaller.files);
  const [old, now] = [runPolicyTests(set, policy), runPolicyTests(changed, smaller.policy)];
  const tests = set.tests.flatMap(({ name }, i) => {
    const fails = (report: typeof old): boolean => (report.failuresByResult[i] ?? []).length > 0;
    return fails(now) && !fails(old) ? [name] : [];
  });
  const violated = new Set(checkGuardrails(set, policy).violations.map(({ guardrail }) => guardrail));
  const guardrails = checkGuardrails(changed, smaller.policy).violations.map(({ guardrail }) => guardrail);
  return {
    report: diffPolicies(policy, smaller.policy),
    checks: diffChecks(
      sideOf({ policy, set, sources }),
      sideOf({ policy: smaller.policy, set: changed, sources: smaller.files }),
    ),
    breaks: { tests: [...new Set(tests)], guardrails: guardrails.filter((id) => !violated.has(id)) },
  };
}
