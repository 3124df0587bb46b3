// The sheet in which reviewers decide: one line for each row of the population, with three cells to fill in. What comes back from a
// spreadsheet is compared with the population, line by line, so that no row is lost, added, or decided with changed content.
import { scopePatterns } from '../../engine/compiler.js';
import { scopeSetOf } from '../../engine/index.js';
import { cellText, comparableCell, csvText, isTakenForValue, keptText } from '../authoring/csv-text.js';
import { parseCsv } from './csv.js';
import type { Population, ReviewRow } from './population.js';

interface Column {
  readonly name: string;
  readonly cell: (row: ReviewRow) => string;
  /** Without it nobody could know what a line was about. */
  readonly isNeeded?: true;
}

const DECISION = ['decision', 'reviewer', 'note'] as const;

/** What was frozen. */
export const COLUMNS: readonly Column[] = [
  { name: 'row', cell: ({ id }) => id, isNeeded: true },
  { name: 'person', cell: ({ person }) => person ?? '' },
  { name: 'identity', cell: ({ identity }) => identity, isNeeded: true },
  { name: 'scopes', cell: ({ scopes }) => scopePatterns(scopeSetOf(scopes)).join(' '), isNeeded: true },
  {
    name: 'where',
    cell: ({ namespace, extent }) => `${extent === 'exact' ? 'at' : 'at and below'} ${namespace}`,
    isNeeded: true,
  },
  { name: 'from', cell: ({ from }) => instantCell(from) },
  { name: 'until', cell: ({ until }) => instantCell(until) },
  { name: 'grant', cell: ({ grant }) => grant.id, isNeeded: true },
  { name: 'granted at', cell: ({ grant }) => grant.namespace },
  { name: 'reason', cell: ({ grant }) => grant.reason ?? '' },
  { name: 'path', cell: ({ ways }) => ways.map(wayText).join(' | ') },
  { name: 'last used', cell: ({ lastUsed }) => (lastUsed === null ? 'never' : instantCell(lastUsed ?? null)) },
];

/** In a form that no spreadsheet takes for a date of its own and writes back in another way. */
function instantCell(instant: string | null): string {
  return instant === null ? '' : `${instant.replace('T', ' ').replace(/(?:\.000)?Z$/, '')} UTC`;
}

/** `leads in staff until 2027-01-01T00:00:00.000Z`: from the identity to the role of the grant. */
export function wayText(way: ReviewRow['ways'][number]): string {
  if (way.length === 0) return 'granted to the identity itself';
  return way
    .map(({ role, notBefore, expires }) =>
      [
        role,
        ...(notBefore === undefined ? [] : [`from ${notBefore}`]),
        ...(expires === undefined ? [] : [`until ${expires}`]),
      ].join(' '),
    )
    .join(' in ');
}

/** A line for each row; `after` are the cells behind those of the row. */
export function sheetText(
  rows: readonly ReviewRow[],
  after: { readonly names: readonly string[]; readonly cells: (row: ReviewRow) => readonly string[] } = {
    names: DECISION,
    cells: () => ['', '', ''],
  },
): string {
  const head = [...COLUMNS.map(({ name }) => name), ...after.names];
  return csvText([
    head,
    ...rows.map((row) => [...COLUMNS.map(({ cell }) => keptText(cell(row))), ...after.cells(row)]),
  ]);
}

interface Decision {
  readonly decision: 'keep' | 'revoke';
  readonly reviewer: string;
  readonly note?: string;
}

export type SheetFaultCode =
  | 'sheet.malformed'
  | 'sheet.column'
  | 'sheet.forged'
  | 'sheet.changed'
  | 'sheet.decision'
  | 'sheet.reviewer'
  | 'sheet.conflict';

export interface SheetFault {
  readonly code: SheetFaultCode;
  readonly sheet: string;
  readonly line: number;
  readonly row?: string;
  readonly message: string;
}

interface Sheet {
  /** In the order of the lines. */
  readonly decisions: readonly { readonly row: string; readonly line: number; readonly decision: Decision }[];
  /** Ids of rows that have a line. */
  readonly rows: ReadonlySet<string>;
  readonly faults: readonly SheetFault[];
}

const TAKEN_FOR_VALUE =
  'did a spreadsheet take it for a number or a date? Open the sheet again with all columns as text';

/** Longer notes and names are no sentence of a reviewer. */
const MOST_TEXT = 2000;

/** Every line is checked. Nothing in a sheet is believed but the three cells of the reviewer. */
export function readSheet(text: string, shown: string, { rows }: Pick<Population, 'rows'>): Sheet {
  const faults: SheetFault[] = [];
  const refuse = (code: SheetFaultCode, line: number, message: string, row?: string): void =>
    void faults.push({ code, sheet: shown, line, ...(row === undefined ? {} : { row }), message });
  const decisions: { readonly row: string; readonly line: number; readonly decision: Decision }[] = [];
  const seen = new Set<string>();
  const parsed = parseCsv(text);
  if ('fault' in parsed) {
    refuse('sheet.malformed', parsed.line, `the file is not CSV: ${parsed.fault}`);
    return { decisions, rows: seen, faults };
  }
  const [head, ...lines] = parsed;
  const names = (head?.cells ?? []).map((cell) => cell.trim().toLowerCase());
  for (const name of [
    ...COLUMNS.filter(({ isNeeded }) => isNeeded).map((column) => column.name),
    'decision',
    'reviewer',
  ])
    if (!names.includes(name)) refuse('sheet.column', 1, `the column \`${name}\` is missing`);
  for (const name of [...COLUMNS.map((column) => column.name), ...DECISION])
    if (names.indexOf(name) !== names.lastIndexOf(name))
      refuse('sheet.column', 1, `the column \`${name}\` is there twice`);
  if (faults.length > 0) return { decisions, rows: seen, faults };
  const byId = new Map(rows.map((row) => [row.id, row]));
  const columns = new Map(names.map((name, column) => [name, column]));
  for (const { line, cells } of lines) {
    const cellOf = (name: string): string => cells[columns.get(name) ?? -1]?.trim() ?? '';
    const id = cellOf('row');
    const row = byId.get(id);
    if (row === undefined) {
      refuse('sheet.forged', line, id === '' ? 'the line names no row' : `the review has no row \`${id}\``, id);
      continue;
    }
    seen.add(id);
    const changed = COLUMNS.filter(
      ({ name, cell }) => columns.has(name) && comparableCell(cellOf(name)) !== comparableCell(cellText(cell(row))),
    );
    if (changed.length > 0) {
      const named = changed.map(({ name }) => `\`${name}\``).join(', ');
      const why = changed.every(({ cell }) => isTakenForValue(cell(row)))
        ? TAKEN_FOR_VALUE
        : 'were lines or columns moved?';
      const message = `${named} ${changed.length === 1 ? 'is' : 'are'} not what was frozen for this row: ${why}`;
      refuse('sheet.changed', line, message, id);
      continue;
    }
    const [word, reviewer, note] = [cellOf('decision').toLowerCase(), cellOf('reviewer'), cellOf('note')];
    if (word === '') continue;
    if (word !== 'keep' && word !== 'revoke')
      refuse('sheet.decision', line, 'the decision is neither `keep` nor `revoke`', id);
    else if (reviewer === '') refuse('sheet.reviewer', line, 'the decision has no reviewer', id);
    else if (reviewer.length > MOST_TEXT || note.length > MOST_TEXT)
      refuse('sheet.malformed', line, `the reviewer or the note is longer than ${String(MOST_TEXT)} characters`, id);
    else decisions.push({ row: id, line, decision: { decision: word, reviewer, ...(note === '' ? {} : { note }) } });
  }
  return { decisions, rows: seen, faults };
}

/** All that was decided about one row. Several reviewers may have decided alike. */
export interface RowDecision {
  readonly decision: Decision['decision'];
  readonly by: readonly Omit<Decision, 'decision'>[];
}

export interface Decisions {
  readonly byRow: ReadonlyMap<string, RowDecision>;
  /** Rows without a decision: `blank`, or `absent` if no sheet has a line for it. */
  readonly missing: readonly { readonly row: string; readonly why: 'blank' | 'absent' }[];
  readonly faults: readonly SheetFault[];
}

export interface NamedText {
  readonly shown: string;
  readonly text: string;
}

/** Takes all sheets together. Sheets that decide differently about a row are a fault of the later one. */
export function readSheets(sheets: readonly NamedText[], population: Population): Decisions {
  const byRow = new Map<
    string,
    { readonly decision: Decision['decision']; readonly by: Omit<Decision, 'decision'>[] }
  >();
  /** Who decided about which row in which words. */
  const said = new Set<string>();
  const seen = new Set<string>();
  const faults: SheetFault[] = [];
  for (const { shown, text } of sheets) {
    const sheet = readSheet(text, shown, population);
    for (const fault of sheet.faults) faults.push(fault);
    for (const id of sheet.rows) seen.add(id);
    for (const { row, line, decision } of sheet.decisions) {
      const { decision: word, ...by } = decision;
      const before = byRow.get(row);
      if (before !== undefined && before.decision !== word) {
        const message = `${reviewersOf(before)} decided \`${before.decision}\`, and ${by.reviewer} \`${word}\``;
        faults.push({ code: 'sheet.conflict', sheet: shown, line, row, message });
        continue;
      }
      const words = JSON.stringify([row, by.reviewer, by.note]);
      if (said.has(words)) continue;
      said.add(words);
      if (before === undefined) byRow.set(row, { decision: word, by: [by] });
      else before.by.push(by);
    }
  }
  const missing = population.rows.flatMap(({ id }) =>
    byRow.has(id) ? [] : [{ row: id, why: seen.has(id) ? ('blank' as const) : ('absent' as const) }],
  );
  return { byRow, missing, faults };
}

/** Of reviewers that a message names; the others are counted. */
const SHOWN_REVIEWERS = 8;

function reviewersOf({ by }: RowDecision): string {
  const left = by.length - SHOWN_REVIEWERS;
  const shown = by
    .slice(0, SHOWN_REVIEWERS)
    .map(({ reviewer }) => reviewer)
    .join(', ');
  return left > 0 ? `${shown} and ${String(left)} more` : shown;
}
