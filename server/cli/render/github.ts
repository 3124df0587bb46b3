// Workflow commands of GitHub Actions: each problem is an annotation on its line. GitHub drops a message of more than
// 65,535 bytes, so each message is kept far below that. JSON has everything that a problem contains.
import type { Severity } from '../../../engine/compiler.js';
import type { CheckReport } from '../../policy/open/check-policy.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { count } from './text.js';
import { escapeText } from './escape.js';
import { type CheckProblem, type Locator, problemsOf } from './problems.js';

const COMMANDS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' };

export function renderReport(report: CheckReport, locator: Locator): string {
  return problemsOf(report)
    .map((problem) => command(problem, locator))
    .join('');
}

export function renderFailure({ code, message }: { readonly code: string; readonly message: string }): string {
  const lines = message.split('\n').map(escapeText);
  return `::error title=${property(code)}::${data(firstLines(lines))}\n`;
}

function command({ code, severity, file, range, message, detail }: CheckProblem, locator: Locator): string {
  const { start, end } = range;
  // Columns are only understood within one line, and an annotation without width is one of the line.
  const columns =
    end.line === start.line && end.column > start.column ? { col: start.column, endColumn: end.column } : {};
  const properties = { file: locator.path(file), line: start.line, endLine: end.line, ...columns, title: code };
  const list = Object.entries(properties).map(([name, value]) => `${name}=${property(String(value))}`);
  const lines = [message, ...(detail === '' ? [] : detail.split('\n'))];
  return `::${COMMANDS[severity]} ${list.join(',')}::${data(firstLines(lines.map(escapeText)))}\n`;
}

/** As many whole lines as fit, at least the first, and the number of lines that are left out. */
function firstLines(lines: readonly string[]): string {
  const [first = '', ...others] = lines;
  const head = clip(first);
  let room = CLI_LIMITS.annotationBytes - bytesOf(head);
  const end = others.findIndex((line) => (room -= bytesOf(line) + 1) < 0);
  if (end < 0) return [head, ...others].join('\n');
  return [
    head,
    ...others.slice(0, end),
    `and ${count(others.length - end, 'more line')}: --format json lists all`,
  ].join('\n');
}

/** Shortens a line that is too long by itself: a character has at most four bytes. */
function clip(line: string): string {
  return bytesOf(line) <= CLI_LIMITS.annotationBytes
    ? line
    : `${line.slice(0, CLI_LIMITS.annotationBytes / 4).toWellFormed()}…`;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}

/** `%`, CR and LF would end or change a command. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(escapeText(text)).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
