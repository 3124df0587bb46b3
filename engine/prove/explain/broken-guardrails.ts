// Which guardrails and tests of the policy an edit would break. The edit is made in the declarations, and each guardrail that holds now is
// proved again, each test that passes now is run again. So all effects count: a new member may also become someone whom a guardrail exempts.
import { compileTables } from '../../compile/compile-tables.js';
import { openTables } from '../../evaluate/open-snapshot.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { preparePolicy } from '../../evaluate/prepare.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { invariant } from '../../model/invariant.js';
import { compareTexts } from '../../model/order.js';
import type { PolicyGuardrail, PolicySet, PolicyTest } from '../../model/policy-set.js';
import { proveGuardrails } from '../guardrails/check-guardrails.js';
import { makeProofBudget, type ProofBounds } from '../guardrails/proof-budget.js';
import { runPolicyTests } from '../tests/policy-tests.js';
import { editedSet } from './edited-set.js';
import type { Change, Edit } from './edits.js';
import type { TakingChange } from './take-away.js';

export type ProvedEdit<AnyEdit extends Edited = Edit> = AnyEdit & {
  /** The sorted ids of the guardrails that hold now and would no longer hold. Null if this was not computed. */
  readonly breaks: readonly string[] | null;
  /** The same of the policy's tests, by name. */
  readonly fails: readonly string[] | null;
};

/** Of either kind. */
interface Edited {
  readonly change: Change | TakingChange;
}

/** `set` is what `policy` was compiled from. It is null for a snapshot, which does not contain its guardrails. */
export interface Guarded {
  readonly policy: Policy;
  readonly set: PolicySet | null;
}

/**
 * The edits in the same order. Past the limits `editedEntries` and `proofSteps`, `breaks` is null; past the former and `editedTests`,
 * `fails` is.
 */
export function proveEdits<AnyEdit extends Edited>(
  edits: readonly AnyEdit[],
  { policy, set }: Guarded,
  limits: EngineLimits = ENGINE_LIMITS,
): readonly ProvedEdit<AnyEdit>[] {
  if (edits.length === 0) return [];
  if (set === null) {
    const known = { breaks: policy.checks?.guardrails.count === 0, fails: policy.checks?.tests.count === 0 };
    return edits.map((edit) => {
      const isFree = isOfCredential(edit.change);
      return { ...edit, breaks: isFree || known.breaks ? [] : null, fails: isFree || known.fails ? [] : null };
    });
  }
  const budget = makeProofBudget(limits.proofSteps);
  const guardrails = heldGuardrails(set, policy, { limits, budget });
  const tests = passedTests(set, policy);
  const asked = tests.reduce((sum, { allow, deny, sees }) => sum + allow.length + deny.length + sees.length, 0);
  let left = limits.editedEntries;
  let testsLeft = limits.editedTests;
  return edits.map((edit) => {
    const { change } = edit;
    if (isOfCredential(change) || (guardrails.length === 0 && tests.length === 0))
      return { ...edit, breaks: [], fails: [] };
    left -= entriesOf(set);
    testsLeft -= asked;
    if (left < 0) {
      return { ...edit, breaks: guardrails.length === 0 ? [] : null, fails: tests.length === 0 ? [] : null };
    }
    const edited = editedSet(set, change);
    return {
      ...edit,
      breaks: guardrails.length === 0 ? [] : brokenIn({ ...edited, guardrails }, { limits, budget }),
      fails: tests.length === 0 ? [] : testsLeft < 0 ? null : failingIn({ ...edited, tests }, policy, limits),
    };
  });
}

function isOfCredential({ kind }: Change | TakingChange): boolean {
  return kind === 'credential' || kind === 'narrow-credential';
}

function passedTests(set: PolicySet, policy: Policy): readonly PolicyTest[] {
  if (set.tests.length === 0) return [];
  const { results } = runPolicyTests(set, policy);
  return set.tests.filter((_, i) => results[i]?.passed === true);
}

function failingIn(set: PolicySet, policy: Policy, { expandedRows }: EngineLimits): readonly string[] | null {
  const { tables, holders: holdersWithin } = compileTables(set);
  const holders = holdersWithin(expandedRows);
  if (holders === null) return null;
  const { results } = runPolicyTests(set, openTables({ tables, holders }, policy));
  return [...new Set(results.flatMap(({ test, passed }) => (passed ? [] : [test])))].sort(compareTexts);
}

function heldGuardrails(set: PolicySet, policy: Policy, bounds: ProofBounds): readonly PolicyGuardrail[] {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'guardrails are checked against a compiled policy');
  const { violations } = proveGuardrails(set, prepared, bounds);
  const broken = new Set(violations.map(({ guardrail }) => guardrail));
  return set.guardrails.filter(({ id }) => !broken.has(id));
}

/** The number of entries that a proof reads at least once. */
function entriesOf({ grants, roles }: PolicySet): number {
  return roles.reduce((sum, { members }) => sum + members.length, grants.length);
}

function brokenIn(set: PolicySet, bounds: ProofBounds): readonly string[] | null {
  const { tables, holders: holdersWithin } = compileTables(set);
  const holders = holdersWithin(bounds.limits.expandedRows);
  if (holders === null) return null;
  const { violations } = proveGuardrails(set, preparePolicy({ tables, holders }), bounds);
  if (violations.some(({ unproved }) => unproved === true)) return null;
  return violations.map(({ guardrail }) => guardrail).sort(compareTexts);
}
