// What each decoder of a file needs: where to report faults, and how to turn offsets into lines.
import type { DiagnosticCode } from '../diagnostics/diagnostic-codes.js';
import type { EngineLimits } from '../limits.js';
import type { Finding, Sink } from '../diagnostics/report.js';
import { rangeOf, type LineTable, type Span, visibleSpan } from '../model/span.js';
import { RECORD_VOCABULARY, type Vocabulary } from '../model/vocabulary.js';
import type { SourceFault } from './tree.js';

export interface FileContext {
  /** Relative to the policy folder, with `/`. */
  readonly file: string;
  readonly text: string;
  readonly lines: LineTable;
  readonly limits: EngineLimits;
  readonly sink: Sink;
  readonly words: Words;
}

/** The scopes that may stand in a file. */
export interface Words {
  readonly vocabulary: Vocabulary;
  /** Whether the policy may declare others that could not be read. Those are not reported as unknown. */
  readonly hidesOthers: boolean;
}

/** Where `policy.yaml` has not been read. */
export const UNKNOWN_WORDS: Words = { vocabulary: RECORD_VOCABULARY, hidesOthers: true };

export function reportFault(context: FileContext, fault: SourceFault): void {
  context.sink.add(findingOf(context.file, context, fault));
}

/** Cited texts are cut to this many characters: more of a long text does not help a reader. */
const WORDS = 400;

/** A fault of one file, as it is reported. */
export function findingOf(
  file: string,
  { text, lines }: Pick<FileContext, 'text' | 'lines'>,
  { code, message, help, related = [], ...span }: SourceFault,
): Finding {
  return {
    code,
    file,
    range: rangeOf(lines, visibleSpan(text, span)),
    message: shortened(message),
    help: help === undefined ? undefined : shortened(help),
    related: related.map((place) => ({ file, range: rangeOf(lines, place), message: shortened(place.message) })),
  };
}

function shortened(words: string): string {
  return words.length <= WORDS
    ? words
    : `${words.slice(0, WORDS / 2).toWellFormed()}…${words.slice(-WORDS / 2).toWellFormed()}`;
}

/** Reports a fault and returns null, so that a decoder can return the result. */
export function refuse(
  context: FileContext,
  code: DiagnosticCode,
  finding: { readonly at: Span; readonly message: string; readonly help?: string | undefined },
): null {
  const { at, message, help } = finding;
  reportFault(context, { code, start: at.start, end: at.end, message, help });
  return null;
}
