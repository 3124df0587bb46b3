// Workflow commands of GitHub Actions: each problem is an annotation on its line.
import type { Severity } from '../../../engine/compiler.js';
import type { CheckReport } from '../check-policy.js';
import { escapeText } from './escape.js';
import type { Locator } from './locate.js';
import { type Problem, problemsOf } from './problems.js';

const COMMANDS: Readonly<Record<Severity, string>> = { error: 'error', warning: 'warning', info: 'notice' };

export function renderGithub(report: CheckReport, locator: Locator): string {
  return problemsOf(report)
    .map((problem) => command(problem, locator))
    .join('');
}

export function renderGithubFailure(code: string, message: string): string {
  return `::error title=${property(code)}::${data(message)}\n`;
}

function command({ code, severity, file, range, message, detail }: Problem, locator: Locator): string {
  const { start, end } = range;
  // Columns are only understood within one line, and an annotation without width is one of the line.
  const columns =
    end.line === start.line && end.column > start.column ? { col: start.column, endColumn: end.column } : {};
  const properties = { file: locator.path(file), line: start.line, endLine: end.line, ...columns, title: code };
  const list = Object.entries(properties).map(([name, value]) => `${name}=${property(String(value))}`);
  const lines = [message, ...(detail === '' ? [] : detail.split('\n'))];
  return `::${COMMANDS[severity]} ${list.join(',')}::${data(lines.map(escapeText).join('\n'))}\n`;
}

/** `%`, CR and LF would end or change a command. */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(escapeText(text)).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
