// What every decoder of one file needs: where to report, and how offsets become lines.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { EngineLimits } from '../limits.js';
import type { Sink } from '../diagnostics/report.js';
import { rangeOf, type LineTable, type Span, visibleSpan } from '../model/span.js';
import type { SourceFault } from './tree.js';

export interface FileContext {
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  readonly text: string;
  readonly lines: LineTable;
  readonly limits: EngineLimits;
  readonly sink: Sink;
  /** Set once something was left out that may have declared names. */
  incomplete: boolean;
}

export function reportFault(context: FileContext, fault: SourceFault): void {
  const { file, lines } = context;
  context.sink.add({
    code: fault.code,
    file,
    range: rangeOf(lines, visibleSpan(context.text, fault)),
    message: fault.message,
    help: fault.help,
    related: (fault.related ?? []).map(({ message, ...span }) => ({ file, range: rangeOf(lines, span), message })),
  });
}

/** Reports and gives null, so that a decoder can end with it. */
export function refuse(
  context: FileContext,
  code: DiagnosticCode,
  finding: { readonly at: Span; readonly message: string; readonly help?: string | undefined },
): null {
  const { at, message, help } = finding;
  reportFault(context, { code, start: at.start, end: at.end, message, help });
  return null;
}
