// Diagnostics for people: `file:line:column severity CODE message`, the source line with what is meant underlined, help and
// related places (docs/language.md "Mistakes"). Pure: text in, text out; machine formats stand beside this one.
import type { Diagnostic, Range, Related, Severity } from '../../../engine/compiler.js';
import { count, displayWidth } from './text.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';

/** Decoded text by file, as `readPolicy` gives it. */
export type Sources = ReadonlyMap<string, string>;

const TAB = '    ';
/** A line longer than this is shown around what is meant. */
const MAX_WIDTH = 160;

/** All diagnostics, each with its source line; the empty text if there are none. */
export function renderDiagnostics(diagnostics: readonly Diagnostic[], sources: Sources, paint: Paint): string {
  const lines = makeLineReader(sources);
  return diagnostics.map((diagnostic) => renderDiagnostic(diagnostic, lines, paint)).join('');
}

/** `2 errors, 1 warning in 14 files`, or the empty text if there are none. */
export function summarize(diagnostics: readonly Diagnostic[], files: number): string {
  const bySeverity = (severity: Severity): number =>
    diagnostics.filter((diagnostic) => diagnostic.severity === severity).length;
  const parts = [
    [bySeverity('error'), 'error'] as const,
    [bySeverity('warning'), 'warning'] as const,
    [bySeverity('info'), 'note'] as const,
  ].filter(([number]) => number > 0);
  if (parts.length === 0) return '';
  return `${parts.map(([number, noun]) => count(number, noun)).join(', ')} in ${count(files, 'file')}`;
}

type LineReader = (file: string, line: number) => string | null;

/** Lines of each file are found once, not once a diagnostic. */
function makeLineReader(sources: Sources): LineReader {
  const byFile = new Map<string, readonly string[]>();
  return (file, line) => {
    let lines = byFile.get(file);
    if (lines === undefined) {
      lines = sources.get(file)?.split('\n') ?? [];
      byFile.set(file, lines);
    }
    return lines[line - 1]?.replace(/\r$/, '') ?? null;
  };
}

function renderDiagnostic(diagnostic: Diagnostic, lines: LineReader, paint: Paint): string {
  const { severity, code, file, range, message, help, related } = diagnostic;
  const head = `${placeOf(file, range)} ${paint(severity, severity)} ${paint('strong', code)} ${escapeText(message)}\n`;
  const snippet = renderSnippet(lines(file, range.start.line), range, (text) => paint(severity, text));
  const fix = help === undefined ? '' : `  ${paint('info', 'help')}: ${escapeText(help)}\n`;
  return head + snippet + fix + related.map((place) => renderRelated(place, paint)).join('');
}

function renderRelated(related: Related, paint: Paint): string {
  return `  ${paint('faint', `${placeOf(related.file, related.range)}: ${escapeText(related.message)}`)}\n`;
}

function placeOf(file: string, range: Range): string {
  return `${escapeText(file)}:${String(range.start.line)}:${String(range.start.column)}`;
}

function renderSnippet(line: string | null, range: Range, mark: (text: string) => string): string {
  if (line === null || line.trim() === '') return '';
  const from = Math.min(range.start.column - 1, line.length);
  // A range over several lines is underlined to the end of its first.
  const to =
    range.end.line > range.start.line ? line.length : Math.min(Math.max(range.end.column - 1, from), line.length);
  const window = windowOf(line, from, to);
  const [before, meant, after] = [
    show(line.slice(window.start, from)),
    show(line.slice(from, to)),
    show(line.slice(to, window.end)),
  ];
  const number = String(range.start.line).padStart(4);
  const prefix = window.start > 0 ? '…' : '';
  const visible = clip(`${prefix}${before}${meant}${after}`, MAX_WIDTH);
  const indent = ' '.repeat(displayWidth(prefix + before));
  const length = Math.max(1, Math.min(displayWidth(meant), displayWidth(visible) - indent.length));
  return `${number} | ${visible}\n${' '.repeat(number.length)} | ${indent}${mark('^'.repeat(length))}\n`;
}

/** The part of a long line that holds the start of what is meant, cut between characters. */
function windowOf(line: string, from: number, to: number): { readonly start: number; readonly end: number } {
  if (line.length <= MAX_WIDTH) return { start: 0, end: line.length };
  const start = whole(line, from < MAX_WIDTH / 2 ? 0 : from - 40);
  return {
    start,
    end: whole(line, Math.max(Math.min(line.length, start + MAX_WIDTH), Math.min(to, from + MAX_WIDTH))),
  };
}

/** An index that does not split a surrogate pair. */
function whole(line: string, index: number): number {
  const code = line.charCodeAt(index);
  return code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}

function clip(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, whole(text, width))}…`;
}

function show(text: string): string {
  return escapeText(text.replaceAll('\t', TAB));
}
