// Runs the tests of a policy (docs/language.md "Tests") against its compiled form. Each expectation goes to the same `decide` and
// `visibility` that serve requests. A failure says what was expected, what the answer was, and why.
import type { Actor } from '../../model/actor.js';
import { lineOf } from '../../model/span.js';
import type { Decision, GrantRef, Step, Visibility } from '../../model/decision.js';
import { ENGINE_LIMITS, type EngineLimits } from '../../limits.js';
import { formatIdentity, type Identity } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import { invariant } from '../../model/invariant.js';
import { comparePaths, type NamespacePath } from '../../model/namespace.js';
import type { ExpectedAccess, ExpectedVisibility, Place, PolicySet, PolicyTest } from '../../model/policy-set.js';
import { isScopeName, type ScopeName, scopeOf } from '../../model/scope.js';
import { decide } from '../../evaluate/decide.js';
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { visibility } from '../../evaluate/visibility.js';
import { GRANTS_A_STEP } from './test-cost.js';
import { grantsHeldBy, type Interval, intervalsOf } from './intervals.js';
import { nearestMiss, type NearestMiss } from './nearest-miss.js';
import { statedId } from '../../model/narrow-members.js';

/** One expectation that does not hold, in the first interval in which it fails. */
export interface PolicyTestFailure {
  readonly test: string;
  /** Where the expectation is declared; null in a policy built in memory. */
  readonly file: string | null;
  readonly line: number | null;
  /** As in the test: `resource:read /labs`, or for `sees` `resource /labs`. */
  readonly request: string;
  /** For `sees`, the namespaces in path order. */
  readonly expected: 'allow' | 'deny' | readonly NamespacePath[];
  readonly actual: 'allow' | 'deny' | readonly NamespacePath[];
  readonly step?: Step;
  /** The grants that carry an access that should be denied, or show a namespace that should not be seen. */
  readonly grants?: readonly GrantRef[];
  /**
   * If an access should be allowed or a namespace seen: the grant that comes nearest to that. Absent once `limits.testSteps` have been
   * spent on finding such grants.
   */
  readonly nearest?: NearestMiss;
  /** The test's instant, or the start of the interval in which it fails. Null means before all changes. */
  readonly at: Instant | null;
}

export interface PolicyTestResult {
  readonly test: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly passed: boolean;
}

export interface PolicyTestReport {
  /** Counts of tests, not of expectations. */
  readonly passed: number;
  readonly failed: number;
  /** One for each test, in their order. */
  readonly results: readonly PolicyTestResult[];
  /** In the order of the tests and of their lines. */
  readonly failures: readonly PolicyTestFailure[];
  /** The same for each of `results`: names need not be unique. */
  readonly failuresByResult: readonly (readonly PolicyTestFailure[])[];
  /**
   * The basis of coverage. For each access that a test expects and gets (`allow`, and the namespaces of `sees`), the grants that carry
   * it in each interval of time.
   */
  readonly carriers: readonly (readonly GrantRef[])[];
}

/** `policy` must be compiled from `set`. `tests` are the tests of `set` to run; all if absent. */
export function runPolicyTests(
  set: PolicySet,
  policy: Policy,
  {
    tests = set.tests,
    limits = ENGINE_LIMITS,
  }: { readonly tests?: readonly PolicyTest[]; readonly limits?: Pick<EngineLimits, 'testSteps'> } = {},
): PolicyTestReport {
  const prepared = compiledOf(policy);
  const carriers: (readonly GrantRef[])[] = [];
  const heldBy = makeHeldBy(prepared);
  const misses = { left: limits.testSteps };
  const found = tests.map((test) => runTest(runOf(test, { set, policy, prepared, carriers, heldBy, misses })));
  const results = tests.map(({ name, place }, number) => ({
    test: name,
    file: place?.file ?? null,
    line: place === null ? null : lineOf(place),
    passed: found[number]?.length === 0,
  }));
  const failed = results.filter((result) => !result.passed).length;
  const failures = found.flat();
  return { passed: found.length - failed, failed, results, failures, failuresByResult: found, carriers };
}

/** What all tests need. */
interface Subject {
  readonly set: PolicySet;
  readonly policy: Policy;
  readonly prepared: PreparedPolicy;
  readonly carriers: (readonly GrantRef[])[];
  readonly heldBy: (identities: readonly Identity[]) => Held;
  /** Steps that are left to find grants that come nearest. */
  readonly misses: { left: number };
}

/** What an actor holds at any time. */
interface Held {
  readonly rows: ReadonlySet<number>;
  readonly ids: ReadonlySet<string>;
}

/** Many tests have the same actor. */
function makeHeldBy(prepared: PreparedPolicy): Subject['heldBy'] {
  const known = new Map<string, Held>();
  return (identities) => {
    const actor = identities.map(formatIdentity).join('\n');
    let held = known.get(actor);
    if (held === undefined) {
      const rows = grantsHeldBy(prepared, identities);
      held = { rows, ids: new Set(Array.from(rows, (grant) => statedId(prepared.tables.grants.id[grant] ?? ''))) };
      if (known.size >= REMEMBERED) known.clear();
      known.set(actor, held);
    }
    return held;
  };
}

/** Actors whose grants are kept. */
const REMEMBERED = 1_000;

/** One test, with what all of its expectations need. */
interface Run extends Subject {
  readonly test: PolicyTest;
  readonly actor: Actor;
  readonly held: Held;
}

function runOf(test: PolicyTest, subject: Subject): Run {
  const { identities, credentialScopes, namespaceRestrictions } = test;
  const actor: Actor = { kind: 'request', identities, credentialScopes, namespaceRestrictions };
  return { ...subject, test, actor, held: subject.heldBy(identities) };
}

function runTest(run: Run): readonly PolicyTestFailure[] {
  const { allow, deny, sees } = run.test;
  return [
    ...allow.map((expected) => checkAccess(run, expected, 'allow')),
    ...deny.map((expected) => checkAccess(run, expected, 'deny')),
    ...sees.map((expected) => checkVisibility(run, expected)),
  ].filter((failure) => failure !== null);
}

function checkAccess(
  run: Run,
  { scope, namespace, place }: ExpectedAccess,
  expected: 'allow' | 'deny',
): PolicyTestFailure | null {
  let failure: PolicyTestFailure | null = null;
  for (const interval of intervals(run, namespace)) {
    const question = { scope, context: namespace, target: namespace, at: interval.at };
    const answer = ask(run, question);
    if (answer.decision === expected) {
      if (answer.decision === 'allow') run.carriers.push(answer.grants);
      continue;
    }
    // Intervals after the first failure still count for coverage, so coverage does not depend on the order of time.
    if (failure !== null) continue;
    const request = `${scope} ${namespace}`;
    const reason = answer.decision === 'allow' ? { grants: answer.grants } : denial(run, question, answer.step);
    failure = { ...heading(run, place), request, expected, actual: answer.decision, ...reason, at: interval.from };
  }
  return failure;
}

function checkVisibility(
  run: Run,
  { family, context, namespaces, place }: ExpectedVisibility,
): PolicyTestFailure | null {
  const expected = [...namespaces].sort(comparePaths);
  const isExpected = new Set<string>(expected);
  // A process run is visible only from its own namespace (docs/meaning.md "Visibility").
  const reach = family === 'process-run' ? 'exact' : 'lineage';
  let failure: PolicyTestFailure | null = null;
  for (const interval of intervals(run, context)) {
    const answer = visibility(run.policy, { actor: run.actor, request: { family, context, reach }, at: interval.at });
    const actual = listed(answer);
    const isActual = new Set<string>(actual);
    for (const target of expected) {
      if (!isActual.has(target)) continue;
      const seen = ask(run, { scope: readOf(family), context, target, at: interval.at });
      if (seen.decision === 'allow') run.carriers.push(seen.grants);
    }
    const extra = actual.find((path) => !isExpected.has(path));
    const missing = expected.find((path) => !isActual.has(path));
    const different = extra ?? missing;
    if (different === undefined || failure !== null) continue;
    const question = { scope: readOf(family), context, target: different, at: interval.at } as const;
    const decision = ask(run, question);
    const reason = decision.decision === 'allow' ? { grants: decision.grants } : denial(run, question, decision.step);
    failure = {
      ...heading(run, place),
      request: `${family} ${context}`,
      expected,
      actual,
      ...reason,
      at: interval.from,
    };
  }
  return failure;
}

/** A visibility within one lineage as a list of namespaces. Subtrees occur only with the reach `subtree`. */
function listed(answer: Visibility): readonly NamespacePath[] {
  return answer.kind === 'some' ? [...answer.exact, ...answer.subtrees].sort(comparePaths) : [];
}

/** The test's own instant, or one instant of each interval in which answers about this namespace can differ for this actor. */
function intervals(run: Run, namespace: NamespacePath): readonly Interval[] {
  const { at } = run.test;
  return at === null ? intervalsOf(run.prepared, run.held.rows, namespace) : [{ from: at, at }];
}

interface Question {
  readonly scope: ScopeName;
  readonly context: NamespacePath;
  readonly target: NamespacePath;
  readonly at: Instant;
}

function ask(run: Run, { scope, context, target, at }: Question): Decision {
  return decide(run.policy, { actor: run.actor, request: { kind: 'access', scope, context, target }, at });
}

function denial(run: Run, { scope, target, at }: Question, step: Step): Pick<PolicyTestFailure, 'step' | 'nearest'> {
  const { actor, held, misses, set } = run;
  misses.left -= 1 + Math.ceil(set.grants.length / GRANTS_A_STEP);
  if (misses.left < 0) return { step };
  return { step, nearest: nearestMiss({ actor, scope, namespace: target, at, step }, held.ids, set.grants) };
}

function heading(run: Run, place: Place | null): Pick<PolicyTestFailure, 'test' | 'file' | 'line'> {
  const where = place ?? run.test.place;
  return { test: run.test.name, file: where?.file ?? null, line: where === null ? null : lineOf(where) };
}

function readOf(family: string): ScopeName {
  const scope = scopeOf(family, 'read');
  invariant(isScopeName(scope), 'linking refuses a family that the policy does not have');
  return scope;
}
