// Offsets in a document as places that diagnostics and the policy cite.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { Related } from '../diagnostics/diagnostic.js';
import type { PolicyDocument } from '../model/document.js';
import type { Place } from '../model/policy-set.js';
import type { Finding } from '../diagnostics/report.js';
import { rangeOf, type Span } from '../model/span.js';

export function placeOf(document: PolicyDocument, span: Span): Place {
  return { file: document.file, range: rangeOf(document.lines, span) };
}

export function findingAt(
  document: PolicyDocument,
  span: Span,
  words: {
    readonly code: DiagnosticCode;
    readonly message: string;
    readonly help?: string | undefined;
    readonly related?: readonly Related[];
  },
): Finding {
  return { ...placeOf(document, span), ...words };
}
