// A command that cannot do what it was asked: an exit status, a code for machines and one line for people. Thrown by
// commands, shown in one place (main.ts), so that every verb fails in the same form (interfaces.md, command line).
import { type ConfigFault, configFaultsText } from '../config/index.js';
import { EXIT, type ExitStatus } from './exit-codes.js';
import { escapeText } from './render/escape.js';

export interface FailureDetail {
  /** How to put it right, one line. */
  readonly help?: string;
  /** Ready lines for people that say more than the message: diagnostics, faults of a configuration. */
  readonly text?: string;
  /** More fields of the JSON object, beside `error`. */
  readonly report?: object;
  readonly cause?: unknown;
}

export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly status: ExitStatus;
  readonly code: string;
  readonly detail: FailureDetail;

  constructor(
    status: ExitStatus,
    failure: { readonly code: string; readonly message: string },
    detail: FailureDetail = {},
  ) {
    super(failure.message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.status = status;
    this.code = failure.code;
    this.detail = detail;
  }
}

/** A failure with more to say in its JSON object: what was found out before it. Anything else as it is. */
export function addReport(error: unknown, found: object): unknown {
  if (!(error instanceof CliFailure)) return error;
  return new CliFailure(error.status, error, { ...error.detail, report: { ...found, ...error.detail.report } });
}

/** Settings that cannot be used: every one with its place. */
export function configFailure(faults: readonly ConfigFault[]): CliFailure {
  const text = faults.map((fault) => `  ${escapeText(fault.place)}: ${escapeText(fault.message)}`).join('\n');
  const failure = { code: 'config.invalid', message: configFaultsText(faults) };
  return new CliFailure(EXIT.usage, failure, { text, report: { faults } });
}
