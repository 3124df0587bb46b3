// `diff` for people: on a terminal, and as the comment of a pull request. The certificate stands last in both: how much was
// compared, and that nothing else differs.
import type { Cause, DiffReport, DiffRow } from '../../../engine/compiler.js';
import { count } from './count.js';
import { escapeText } from './escape.js';
import type { Paint } from './palette.js';
import { exactJson, groupDigits, instantJson, regionText, shortList, stretchText } from './region.js';

/** What the two policies are. */
export interface Compared {
  readonly old: { readonly snapshot: string; readonly decisions: string };
  readonly new: { readonly snapshot: string; readonly decisions: string };
}

/** More of a row are counted in text; JSON lists all. */
const SHOWN_IDENTITIES = 8;
const SHOWN_CAUSES = 8;

export function renderDiff(report: DiffReport, compared: Compared, paint: Paint): string {
  return [
    ...groupRows(report.gained).map((rows) => renderRows(rows, paint('good', '+'), paint)),
    ...groupRows(report.lost).map((rows) => renderRows(rows, paint('error', '-'), paint)),
    report.equal ? `${paint('good', 'no access is gained or lost')}\n` : '',
    `${certificate(report)}\n`,
    paint('faint', `old ${compared.old.snapshot}\nnew ${compared.new.snapshot}\n`),
  ].join('');
}

/** Rows of the same identities and causes, in the order of the first of each. */
function groupRows(rows: readonly DiffRow[]): readonly (readonly DiffRow[])[] {
  const groups = new Map<string, DiffRow[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.identities, row.causes]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

function renderRows(rows: readonly DiffRow[], sign: string, paint: Paint): string {
  const [first] = rows;
  if (first === undefined) return '';
  const who = shortList(first.identities.map(escapeText), SHOWN_IDENTITIES);
  const what = rows.map((row) => {
    const when = stretchText(row);
    return `    ${row.scopes.join(', ')} ${regionText(row)}${when === '' ? '' : ` ${when}`}\n`;
  });
  const causes = first.causes
    .slice(0, SHOWN_CAUSES)
    .map((cause) => `    ${paint('faint', `because ${escapeText(causeText(cause))}`)}\n`);
  const left = first.causes.length - SHOWN_CAUSES;
  const more = left > 0 ? `    ${paint('faint', `and ${groupDigits(left)} more causes`)}\n` : '';
  return `${sign} ${paint('strong', who)}\n${what.join('')}${causes.join('')}${more}`;
}

/** ``grant `amx-staff` was changed: scopes (grants/amx.yaml:4)`` */
function causeText(cause: Cause): string {
  const place = cause.file === undefined ? '' : ` (${cause.file}:${String(cause.line ?? 1)})`;
  switch (cause.kind) {
    case 'grant': {
      const fields = cause.fields === undefined ? '' : `: ${cause.fields.join(', ')}`;
      return `grant \`${cause.id}\` to ${cause.principal} was ${cause.change}${fields}${place}`;
    }
    case 'member':
      return `${cause.member} was ${cause.change === 'added' ? 'added to' : 'removed from'} role ${cause.role}${place}`;
    case 'role':
      return `role ${cause.role} was ${cause.change}${place}`;
  }
}

function certificate({ cells }: DiffReport): string {
  const { compared, equal, gained, lost } = cells;
  return `${groupDigits(compared)} cells compared: ${groupDigits(gained)} gained, ${groupDigits(lost)} lost, ${groupDigits(equal)} equal`;
}

/** A comment of a pull request may have 65,536 characters; rows beyond this are counted. */
const MARKDOWN_LENGTH = 60_000;

export function renderMarkdown(report: DiffReport, compared: Compared): string {
  const people = (rows: readonly DiffRow[]): number => new Set(rows.flatMap((row) => row.identities)).size;
  const [gaining, losing] = [people(report.gained), people(report.lost)];
  const head = report.equal
    ? '### Access: nobody gains or loses anything\n'
    : `### Access: ${count(gaining, 'identity gains', 'identities gain')}, ${count(losing, 'identity loses', 'identities lose')}\n`;
  const rows = [
    ...report.gained.map((row) => markdownRow(row, '+')),
    ...report.lost.map((row) => markdownRow(row, '−')),
  ];
  let length = 0;
  const shown = rows.filter((row) => (length += row.length) <= MARKDOWN_LENGTH);
  const table =
    rows.length === 0 ? '' : `\n| | who | may | where | when | because |\n|---|---|---|---|---|---|\n${shown.join('')}`;
  const more =
    shown.length === rows.length ? '' : `\n${count(rows.length - shown.length, 'row')} more: see \`bailiwick diff\`.\n`;
  const digests = `<sub>old ${code(compared.old.snapshot)}<br>new ${code(compared.new.snapshot)}</sub>`;
  return `${head}${table}${more}\n${certificate(report)}.\n\n${digests}\n`;
}

function markdownRow(row: DiffRow, sign: string): string {
  const when = stretchText(row);
  const where = [
    `${row.extent === 'exact' ? '' : `${row.extent === 'below' ? 'below' : 'at and below'} `}${code(row.namespace)}`,
  ];
  if (row.except !== undefined) where.push(`without ${shortList(row.except.map(code), SHOWN_IDENTITIES)}`);
  const cells = [
    sign,
    shortList(row.identities.map(code), SHOWN_IDENTITIES),
    row.scopes.map(code).join(', '),
    where.join(', '),
    when === '' ? 'always' : when,
    shortList(row.causes.map(markdownCause), SHOWN_CAUSES),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

function markdownCause(cause: Cause): string {
  const place = cause.file === undefined ? '' : ` (${code(`${cause.file}:${String(cause.line ?? 1)}`)})`;
  switch (cause.kind) {
    case 'grant':
      return `grant ${code(cause.id)} ${cause.change}${cause.fields === undefined ? '' : `: ${cause.fields.join(', ')}`}${place}`;
    case 'member':
      return `${code(cause.member)} ${cause.change === 'added' ? 'added to' : 'removed from'} ${code(cause.role)}${place}`;
    case 'role':
      return `role ${code(cause.role)} ${cause.change}${place}`;
  }
}

/** A code span in a cell of a table: nothing in it is a mention, a link, HTML or the end of the cell. */
function code(text: string): string {
  const safe = escapeText(text).replaceAll('|', '\\|');
  const longest = Math.max(0, ...(safe.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${safe}${fence}` : `${fence} ${safe} ${fence}`;
}

/** The fields of interfaces.md in their order. */
export function diffJson(report: DiffReport, compared: Compared): readonly (readonly [string, unknown])[] {
  const rowJson = (row: DiffRow): object => ({ ...row, from: instantJson(row.from), until: instantJson(row.until) });
  const { compared: all, equal, gained, lost } = report.cells;
  return [
    ['old', compared.old],
    ['new', compared.new],
    ['equal', report.equal],
    ['gained', report.gained.map(rowJson)],
    ['lost', report.lost.map(rowJson)],
    ['cells', { compared: exactJson(all), equal: exactJson(equal), gained: exactJson(gained), lost: exactJson(lost) }],
  ];
}
