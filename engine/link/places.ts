// Turns offsets in a document into places that diagnostics and the policy cite.
import type { Related } from '../diagnostics/diagnostic.js';
import type { PolicyDocument } from '../model/document.js';
import type { Place } from '../model/policy-set.js';
import type { Finding } from '../diagnostics/report.js';
import { rangeOf, type Span } from '../model/span.js';

export function placeOf({ file, lines }: PolicyDocument, { start, end }: Span): Place {
  return { file, lines, start, end };
}

export function relatedAt({ file, lines }: Pick<Place, 'file' | 'lines'>, span: Span, message: string): Related {
  return { file, range: rangeOf(lines, span), message };
}

/** What a finding says. */
export type FindingWords = Omit<Finding, 'file' | 'range'>;

export function findingAt({ file, lines }: PolicyDocument, span: Span, words: FindingWords): Finding {
  return { file, range: rangeOf(lines, span), ...words };
}
