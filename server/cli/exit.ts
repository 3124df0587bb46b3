// How a command ends: the exit statuses (docs/cli.md "Exit statuses"), one table that is published in the help of
// `bailiwick` and kept forever, and failures. Where 3, 4 and 5 apply at once, the smallest wins. Commands throw a
// failure, and one place shows it (show-failure.ts), so that every verb fails in the same form.
import type { AuditError } from '../audit/audit-error.js';
import type { CheckVerdict } from '../policy/open/check-policy.js';

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
  [EXIT.away, 'store, port or source not available now; try again'],
]);

const VERDICTS: Readonly<Record<CheckVerdict, ExitStatus>> = Object.freeze({
  ok: EXIT.ok,
  invalid: EXIT.policyInvalid,
  tests_failed: EXIT.testsFailed,
  guardrails_violated: EXIT.guardrailViolated,
});

/** How a verb ends after this report. */
export function statusOf({ verdict }: { readonly verdict: CheckVerdict }): ExitStatus {
  return VERDICTS[verdict];
}

export interface FailureDetail {
  /** How to fix it, in one line. */
  readonly help?: string;
  /** Additional lines for people: diagnostics, faults of a configuration. */
  readonly text?: string;
  /** More fields of the JSON object, in addition to `error`. */
  readonly report?: object;
  readonly cause?: unknown;
}

/** A command cannot do what it was asked: a status, a code for machines and one line for people. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly status: ExitStatus;
  readonly code: string;
  readonly detail: FailureDetail;

  constructor(status: ExitStatus, code: string, message: string, detail: FailureDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}

const AUDIT_STATUSES: Readonly<Record<AuditError['code'], ExitStatus>> = {
  'audit.folder': EXIT.precondition,
  'audit.full': EXIT.away,
  'audit.unreadable': EXIT.precondition,
  'audit.damaged': EXIT.integrity,
  'audit.truncated': EXIT.integrity,
};

/** 6 if a file or the folder of the audit log cannot be used, 10 if its disk is full, 8 if the log is not what it should be. */
export function auditFailure(error: AuditError): CliFailure {
  const { code, message, help } = error;
  return new CliFailure(AUDIT_STATUSES[code], code, message, { help, cause: error });
}

/** Adds what was found out before the failure to its JSON object. Returns anything else unchanged. */
export function addReport(error: unknown, found: object): unknown {
  if (!(error instanceof CliFailure)) return error;
  return new CliFailure(error.status, error.code, error.message, {
    ...error.detail,
    report: { ...found, ...error.detail.report },
  });
}

/** Help: what was probably meant, or something else if nothing is near. */
export function meantOr(meant: string | null, otherwise: string): string {
  return meant === null ? otherwise : `did you mean \`${meant}\`?`;
}

/** Wrong usage, and what to write instead. */
export function usage(message: string, help?: string): CliFailure {
  return new CliFailure(EXIT.usage, 'cli.usage', message, help === undefined ? {} : { help });
}
