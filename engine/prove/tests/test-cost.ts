// How much work the tests of a policy are. An access is decided for each identity of the actor. A test without `at` runs once for each
// interval that the windows of its actor's grants make, so the work grows with tests times grants. It is bounded before any test runs.
import { groupDigits } from '../../diagnostics/fault-words.js';
import type { Diagnostic } from '../../diagnostics/diagnostic.js';
import { makeDiagnostic } from '../../diagnostics/report.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { remember } from '../../model/group.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import type { PolicySet, PolicyTest } from '../../model/policy-set.js';
import { grantsHeldBy } from './intervals.js';

/** Grants that are examined in the time of one question. */
export const GRANTS_A_STEP = 32;

interface Intervals {
  readonly count: number;
  /** Steps to find them, for each access. */
  readonly toFind: number;
}

/** Null if the tests are within the limit; else what names the file that costs the most. */
export function costOfTests(
  set: PolicySet,
  policy: Policy,
  limits: Pick<EngineLimits, 'testSteps'> = ENGINE_LIMITS,
): Diagnostic | null {
  const prepared = compiledOf(policy);
  const { notBefore, expires } = prepared.tables.grants;
  const identitiesOf = new Map<string, readonly Identity[]>();
  const intervalsOf = remember((actor: string): Intervals => {
    const instants = new Set<number>();
    const held = grantsHeldBy(prepared, identitiesOf.get(actor) ?? []);
    for (const grant of held)
      for (const instant of [notBefore[grant] ?? 0, expires[grant] ?? 0])
        if (Number.isFinite(instant)) instants.add(instant);
    return { count: 1 + instants.size, toFind: Math.floor(held.size / GRANTS_A_STEP) };
  });
  const stepsOf = ({ identities, at, allow, deny, sees }: PolicyTest): number => {
    const actor = identities.map(formatIdentity).sort().join('\n');
    identitiesOf.set(actor, identities);
    const { count, toFind } = at === null ? intervalsOf(actor) : { count: 1, toFind: 0 };
    return (allow.length + deny.length + sees.length) * (toFind + count * Math.max(1, identities.length));
  };
  const byFile = new Map<string, number>();
  let all = 0;
  for (const test of set.tests) {
    const steps = stepsOf(test);
    all += steps;
    const file = test.place?.file ?? 'policy.yaml';
    byFile.set(file, (byFile.get(file) ?? 0) + steps);
  }
  if (all <= limits.testSteps) return null;
  const [[file, most] = ['policy.yaml', 0]] = [...byFile].sort(([, a], [, b]) => b - a);
  return makeDiagnostic({
    code: 'LIMIT_COUNT',
    file,
    message: `the tests of the policy take more than ${groupDigits(limits.testSteps)} steps, ${groupDigits(most)} of them in this file: each access is decided for each identity, in every interval that the windows of the actor's grants make`,
    help: 'write fewer tests, give them `at` and fewer identities, or give the grants their windows at fewer different instants',
  });
}
