// Which guardrails and tests of the policy an edit would break or repair. The edit is made in the declarations, and every guardrail is
// proved again, every test is run again. So all effects count: a new member may also become someone whom a guardrail exempts.
import { compileTables } from '../../compile/compile-tables.js';
import { openTables } from '../../evaluate/open-snapshot.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import { preparePolicy } from '../../evaluate/prepare.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { compareTexts } from '../../model/order.js';
import type { PolicyGuardrail, PolicySet } from '../../model/policy-set.js';
import { type GuardrailReport, proveGuardrails } from '../guardrails/check-guardrails.js';
import { makeProofBudget } from '../guardrails/proof-budget.js';
import { runPolicyTests } from '../tests/policy-tests.js';
import { editedSet } from './edited-set.js';
import type { Change, Edit } from './edits.js';
import type { TakingChange } from './take-away.js';

/** What an edit does to the checks of the policy. A list is null if it was not computed; all are sorted. */
export interface CheckEffects {
  /** The ids of the guardrails that hold now and would no longer hold. */
  readonly breaks: readonly string[] | null;
  /** The ids of those that are violated now and would hold. */
  readonly repairs: readonly string[] | null;
  /** The names of the tests that pass now and would fail. */
  readonly breaksTests: readonly string[] | null;
  /** The names of those that fail now and would pass. */
  readonly repairsTests: readonly string[] | null;
}

export type ProvedEdit<AnyEdit extends Edited = Edit> = AnyEdit & CheckEffects;

/** Of either kind. */
export interface Edited {
  readonly change: Change | TakingChange;
}

/** `set` is what `policy` was compiled from. It is null for a snapshot, which does not contain its guardrails and tests. */
export interface Guarded {
  readonly policy: Policy;
  readonly set: PolicySet | null;
}

/**
 * The edits in the same order. Past the limits `editedEntries` and `proofSteps`, effects on guardrails are null; past the former and
 * `editedTests`, those on tests are.
 */
export function proveEdits<AnyEdit extends Edited>(
  edits: readonly AnyEdit[],
  guarded: Guarded,
  limits: EngineLimits = ENGINE_LIMITS,
): readonly ProvedEdit<AnyEdit>[] {
  return [...provingEdits(edits, guarded, limits)];
}

/** As `proveEdits`, one edit at a time: for a caller who has other things to do meanwhile. */
export function* provingEdits<AnyEdit extends Edited>(
  edits: readonly AnyEdit[],
  { policy, set }: Guarded,
  limits: EngineLimits = ENGINE_LIMITS,
): Generator<ProvedEdit<AnyEdit>, undefined, undefined> {
  if (edits.length === 0) return;
  const has =
    set === null ? statedChecks(policy) : { guardrails: set.guardrails.length > 0, tests: set.tests.length > 0 };
  const prove = set === null ? UNKNOWN : makeProver(set, policy, limits);
  for (const edit of edits) {
    if (isOfCredential(edit.change) || !(has.guardrails || has.tests)) {
      yield { ...edit, ...NO_GUARDRAIL, ...NO_TEST };
      continue;
    }
    const { guardrails, tests } = prove(edit.change);
    yield { ...edit, ...(has.guardrails ? guardrails : NO_GUARDRAIL), ...(has.tests ? tests : NO_TEST) };
  }
}

type OnGuardrails = Pick<CheckEffects, 'breaks' | 'repairs'>;
type OnTests = Pick<CheckEffects, 'breaksTests' | 'repairsTests'>;
type Prover = (change: Edited['change']) => { readonly guardrails: OnGuardrails; readonly tests: OnTests };

const NO_GUARDRAIL: OnGuardrails = { breaks: [], repairs: [] };
const NO_TEST: OnTests = { breaksTests: [], repairsTests: [] };
const UNPROVED: OnGuardrails = { breaks: null, repairs: null };
const UNTESTED: OnTests = { breaksTests: null, repairsTests: null };
const UNKNOWN: Prover = () => ({ guardrails: UNPROVED, tests: UNTESTED });

/** Whether a snapshot was compiled under any; one that does not say may have been. */
function statedChecks({ checks }: Policy): { readonly guardrails: boolean; readonly tests: boolean } {
  return { guardrails: checks?.guardrails.count !== 0, tests: checks?.tests.count !== 0 };
}

function isOfCredential({ kind }: Edited['change']): boolean {
  return kind === 'credential' || kind === 'narrow-credential';
}

function makeProver(set: PolicySet, policy: Policy, limits: EngineLimits): Prover {
  const bounds = { limits, budget: makeProofBudget(limits.proofSteps) };
  const prepared = compiledOf(policy);
  const before = proveGuardrails(set, prepared, bounds);
  // What could not be proved before is neither broken nor repaired.
  const open = new Set(unprovedIn(before));
  const provable = { ...set, guardrails: set.guardrails.filter(({ id }) => !open.has(id)) };
  const violated = violatedIn(before);
  const failed = failedIn(set, policy);
  const expectations = set.tests.reduce(
    (sum, { allow, deny, sees }) => sum + allow.length + deny.length + sees.length,
    0,
  );
  const left = { entries: limits.editedEntries, tests: limits.editedTests };
  return (change) => {
    left.entries -= entriesOf(set);
    left.tests -= expectations;
    if (left.entries < 0) return UNKNOWN(change);
    const edited = editedSet(provable, change);
    const { tables, holders: holdersWithin } = compileTables(edited);
    const holders = holdersWithin(limits.expandedRows);
    if (holders === null) return UNKNOWN(change);
    const proved = proveIn(edited.guardrails, () =>
      proveGuardrails(edited, preparePolicy({ tables, holders }), bounds),
    );
    const failing = left.tests < 0 ? null : failedIn(edited, openTables({ tables, holders }, policy));
    return {
      guardrails:
        proved === null
          ? UNPROVED
          : { breaks: onlyIn(proved, violated), repairs: onlyIn(violated, proved).filter((id) => !open.has(id)) },
      tests:
        failing === null ? UNTESTED : { breaksTests: onlyIn(failing, failed), repairsTests: onlyIn(failed, failing) },
    };
  };
}

/** The ids of those that are violated; null if one of them could not be proved. */
function proveIn(guardrails: readonly PolicyGuardrail[], prove: () => GuardrailReport): ReadonlySet<string> | null {
  if (guardrails.length === 0) return new Set();
  const report = prove();
  return unprovedIn(report).length > 0 ? null : violatedIn(report);
}

function violatedIn({ violations }: GuardrailReport): ReadonlySet<string> {
  return new Set(violations.map(({ guardrail }) => guardrail));
}

function unprovedIn({ violations }: GuardrailReport): readonly string[] {
  return violations.flatMap(({ guardrail, unproved }) => (unproved === true ? [guardrail] : []));
}

function failedIn(set: PolicySet, policy: Policy): ReadonlySet<string> {
  if (set.tests.length === 0) return new Set();
  return new Set(runPolicyTests(set, policy).results.flatMap(({ test, passed }) => (passed ? [] : [test])));
}

/** Sorted. */
function onlyIn(these: ReadonlySet<string>, those: ReadonlySet<string>): readonly string[] {
  return [...these].filter((one) => !those.has(one)).sort(compareTexts);
}

/** The number of entries that a proof reads at least once. */
function entriesOf({ grants, roles }: PolicySet): number {
  return roles.reduce((sum, { members }) => sum + members.length, grants.length);
}
