// How much work the tests of a policy are. A test without `at` runs once for each interval that the windows of its actor's grants make, so
// the work grows with tests times grants. It is bounded before any test runs.
import { groupDigits } from '../../diagnostics/fault-words.js';
import type { Diagnostic } from '../../diagnostics/diagnostic.js';
import { makeDiagnostic } from '../../diagnostics/report.js';
import { type Policy, preparedOf } from '../../evaluate/policy.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { remember } from '../../model/group.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import { invariant } from '../../model/invariant.js';
import type { PolicySet, PolicyTest } from '../../model/policy-set.js';
import { grantsHeldBy } from './intervals.js';

/** Null if the tests are within the limit; else what names the file that costs the most. */
export function costOfTests(
  set: PolicySet,
  policy: Policy,
  limits: Pick<EngineLimits, 'testSteps'> = ENGINE_LIMITS,
): Diagnostic | null {
  const prepared = preparedOf(policy);
  invariant(prepared !== null, 'policy tests are run against a compiled policy');
  const { notBefore, expires } = prepared.tables.grants;
  const identitiesOf = new Map<string, readonly Identity[]>();
  const instantsOf = remember((actor: string): number => {
    const instants = new Set<number>();
    for (const grant of grantsHeldBy(prepared, identitiesOf.get(actor) ?? []))
      for (const instant of [notBefore[grant] ?? 0, expires[grant] ?? 0])
        if (Number.isFinite(instant)) instants.add(instant);
    return instants.size;
  });
  const stepsOf = ({ identities, at, allow, deny, sees }: PolicyTest): number => {
    const actor = identities.map(formatIdentity).sort().join('\n');
    identitiesOf.set(actor, identities);
    return (allow.length + deny.length + sees.length) * (at === null ? 1 + instantsOf(actor) : 1);
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
    message: `the tests of the policy ask more than ${groupDigits(limits.testSteps)} questions, ${groupDigits(most)} of them in this file: each access is asked about in every interval that the windows of the actor's grants make`,
    help: 'write fewer tests without `at`, or give the grants their windows at fewer different instants',
  });
}
