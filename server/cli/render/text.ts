// Small texts that every report is made of: numbers with their nouns, percentages, the width of a line on a terminal, tables.
import { escapeText } from './escape.js';
import { groupDigits, type PolicyChecks, type SnapshotCounts } from '../../../engine/index.js';

/** `1 file`, `2,000 files`, `2 entries`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${groupDigits(number)} ${number === 1 ? singular : plural}`;
}

/** Lines for people, without what a terminal could obey; those that are false are left out. */
export function linesText(lines: readonly (string | false)[]): string {
  return lines.map((line) => (line === false ? '' : `${escapeText(line)}\n`)).join('');
}

/** Texts of the first ones of a list, and one that counts the others. */
export function firstOf<T>(
  list: readonly T[],
  text: (one: T) => string,
  { most, more }: { readonly most: number; readonly more: (left: number) => string },
): readonly string[] {
  const shown = list.slice(0, most).map((one) => text(one));
  return list.length <= most ? shown : [...shown, more(list.length - most)];
}

/** `3 of 1,200 tests` */
export function countOf(part: number, total: number, singular: string): string {
  return `${groupDigits(part)} of ${count(total, singular)}`;
}

export function renderCounts(counts: SnapshotCounts): string {
  return [
    count(counts.identities, 'identity', 'identities'),
    count(counts.roles, 'role'),
    count(counts.grants, 'grant'),
    count(counts.namespaces, 'namespace'),
  ].join(', ');
}

export function renderChecks(checks: PolicyChecks | null): string {
  if (checks === null) return 'compiled under guardrails and tests that this format does not state';
  const { guardrails, tests, people } = checks;
  const named = `${count(guardrails.count, 'guardrail')}, ${count(tests.count, 'test')}`;
  return `compiled under ${named}, ${count(people.count, 'person', 'people')}`;
}

export function percentText(percent: number): string {
  return percent > 0 && percent < 0.1 ? '<0.1%' : `${String(Math.floor(percent * 10) / 10)}%`;
}

const ZERO = /[\p{Mn}\p{Me}]/u;
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{17000}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Columns of one line of printable text. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text)
    width += character < '\u0300' ? 1 : ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}

/** Cells are printable texts of one line. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, displayWidth(row[column] ?? '')), displayWidth(heading)),
  );
  return [headings, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - displayWidth(cell), 0)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
