// A command cannot do what it was asked: an exit status, a code for machines and one line for people. Commands throw
// it, and one place shows it (show-failure.ts), so that every verb fails in the same form.
import { EXIT, type ExitStatus } from './exit-codes.js';

export interface FailureDetail {
  /** How to fix it, in one line. */
  readonly help?: string;
  /** Additional lines for people: diagnostics, faults of a configuration. */
  readonly text?: string;
  /** More fields of the JSON object, in addition to `error`. */
  readonly report?: object;
  readonly cause?: unknown;
}

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

/** Adds what was found out before the failure to its JSON object. Returns anything else unchanged. */
export function addReport(error: unknown, found: object): unknown {
  if (!(error instanceof CliFailure)) return error;
  return new CliFailure(error.status, error.code, error.message, {
    ...error.detail,
    report: { ...found, ...error.detail.report },
  });
}

/** Wrong usage, and what to write instead. */
export function usage(message: string, help?: string): CliFailure {
  return new CliFailure(EXIT.usage, 'cli.usage', message, help === undefined ? {} : { help });
}
