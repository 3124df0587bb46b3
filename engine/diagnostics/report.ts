// How mistakes are gathered: one sink per run, which keeps at most a limit of them, and the order and the deduplication
// of what comes out (design 3.2).
import { groupDigits } from './fault-words.js';
import type { Diagnostic, Related } from './diagnostic.js';
import { codePage, type DiagnosticCode } from './diagnostic-codes.js';
import { compareTexts } from '../model/order.js';
import { FILE_START, type Range } from '../model/span.js';

export interface Finding {
  readonly code: DiagnosticCode;
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  /** The whole file when absent. */
  readonly range?: Range;
  /** One line, lower case, no period, in the user's words. */
  readonly message: string;
  readonly help?: string | undefined;
  readonly related?: readonly Related[];
}

/** The severity comes from the registry of codes. */
export function makeDiagnostic(finding: Finding): Diagnostic {
  return {
    code: finding.code,
    severity: codePage(finding.code).severity,
    file: finding.file,
    range: finding.range ?? FILE_START,
    message: finding.message,
    ...(finding.help === undefined ? {} : { help: finding.help }),
    related: finding.related ?? [],
  };
}

export interface Sink {
  readonly add: (finding: Finding) => void;
  /** Whether an error has been added, listed or not. */
  readonly failed: () => boolean;
  /** Sorted and without repetitions; a last one says how many were left out. */
  readonly diagnostics: () => readonly Diagnostic[];
}

export function makeSink(limit: number): Sink {
  const kept: Diagnostic[] = [];
  let failed = false;
  let left = 0;
  let firstLeft: Diagnostic | null = null;
  return {
    add: (finding) => {
      const diagnostic = makeDiagnostic(finding);
      failed ||= diagnostic.severity === 'error';
      if (kept.length < limit) kept.push(diagnostic);
      else {
        failed = true;
        left += 1;
        firstLeft ??= diagnostic;
      }
    },
    failed: () => failed,
    diagnostics: () => {
      const all = sortDiagnostics(kept);
      if (firstLeft === null) return all;
      const message = `${groupDigits(left)} more ${left === 1 ? 'mistake is' : 'mistakes are'} not listed`;
      return [
        ...all,
        makeDiagnostic({
          code: 'LIMIT_DIAGNOSTICS',
          file: firstLeft.file,
          range: firstLeft.range,
          message,
          help: 'correct what is listed, then check again',
        }),
      ];
    },
  };
}

/** By file, position, code and message; equal ones once. */
export function sortDiagnostics(diagnostics: Iterable<Diagnostic>): readonly Diagnostic[] {
  const sorted = [...diagnostics].sort(compareDiagnostics);
  return sorted.filter((diagnostic, index) => {
    const before = sorted[index - 1];
    return before === undefined || compareDiagnostics(before, diagnostic) !== 0;
  });
}

function compareDiagnostics(a: Diagnostic, b: Diagnostic): number {
  return (
    compareTexts(a.file, b.file) ||
    a.range.start.line - b.range.start.line ||
    a.range.start.column - b.range.start.column ||
    compareTexts(a.code, b.code) ||
    a.range.end.line - b.range.end.line ||
    a.range.end.column - b.range.end.column ||
    compareTexts(a.message, b.message)
  );
}
