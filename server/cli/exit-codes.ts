// The exit statuses (docs/cli.md "Exit statuses"): one table, published in the help of `bailiwick` and kept forever. Where
// 3, 4 and 5 apply at once, the smallest wins.
import type { Verdict } from '../policy/open/check-policy.js';

export const EXIT = Object.freeze({
  ok: 0,
  unexpected: 1,
  usage: 2,
  policyInvalid: 3,
  testsFailed: 4,
  guardrailViolated: 5,
  precondition: 6,
  differences: 7,
  integrity: 8,
  stale: 9,
  away: 10,
} as const);

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** The meaning of each status, in the order of the help text. */
export const EXIT_MEANINGS: ReadonlyMap<ExitStatus, string> = new Map<ExitStatus, string>([
  [EXIT.ok, 'ok'],
  [EXIT.unexpected, 'unexpected failure'],
  [EXIT.usage, 'wrong usage, configuration or input'],
  [EXIT.policyInvalid, 'policy invalid'],
  [EXIT.testsFailed, 'policy tests failed'],
  [EXIT.guardrailViolated, 'guardrail violated'],
  [EXIT.precondition, 'precondition not met'],
  [EXIT.differences, 'differences found'],
  [EXIT.integrity, 'integrity or signature failure'],
  [EXIT.stale, 'stale'],
  [EXIT.away, 'store or port not available now; try again'],
]);

const VERDICTS: Readonly<Record<Verdict, ExitStatus>> = Object.freeze({
  ok: EXIT.ok,
  invalid: EXIT.policyInvalid,
  tests_failed: EXIT.testsFailed,
  guardrails_violated: EXIT.guardrailViolated,
});

/** How a verb ends after this report. */
export function statusOf({ verdict }: { readonly verdict: Verdict }): ExitStatus {
  return VERDICTS[verdict];
}
