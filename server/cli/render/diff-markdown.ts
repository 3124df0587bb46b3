// `diff` as the comment of a pull request: who gains and loses in one line, the first rows in a table, and the others
// folded, as many as a comment has room for. The certificate comes last.
import type { DiffReport, DiffRow } from '../../../engine/compiler.js';
import type { AnyCause } from '../../authoring/causes.js';
import { CLI_LIMITS } from '../../limits/command-line.js';
import { count } from './text.js';
import {
  certificate,
  changeLines,
  checkLines,
  type ComparedPolicies,
  emergentText,
  emergentTitle,
  exclusiveLines,
  exclusiveText,
  scopeLines,
  leftOutText,
  type Merge,
  NOTHING_EMERGENT,
  SHOWN_CHECKS,
  type ShownRow,
  shownRows,
} from './diff.js';
import { escapeText } from './escape.js';
import { patternsOf, shortList, stretchText } from './words.js';

/** Rows that everybody sees; the others are folded. */
const OPEN_ROWS = 20;
/** Entries shown of each list in a row; the others are counted. */
const SHOWN = 5;
/** Characters for how guardrails and folders changed, and as many for exclusive pairs, of those of a comment. */
const CHANGES = CLI_LIMITS.commentCharacters / 4;
/** Of a reason or a description. */
const SHOWN_CHARACTERS = 120;

export function renderMarkdown(report: DiffReport, compared: ComparedPolicies): string {
  const { gained, lost } = report;
  const { merge } = compared;
  const rows = [
    ...shownRows(merge?.rows ?? []).map((row): SignedRow => ({ sign: '!', text: markdownRow(row, '!') })),
    ...shownRows(gained).map((row): SignedRow => ({ sign: '+', text: markdownRow(row, '+') })),
    ...shownRows(lost).map((row): SignedRow => ({ sign: '−', text: markdownRow(row, '−') })),
  ];
  const { kept: changes, left: moreChanges } = changesOf(compared);
  const { kept: pairs, left: morePairs } = withinRoom(
    exclusiveLines(report).map((line) => `**${exclusiveText(line, code)}**\n`),
  );
  const room = CLI_LIMITS.commentCharacters - changes.join('').length - pairs.join('').length;
  const { kept: fitting, left } = share(rows, { room, size: ({ text }) => text.length });
  const { kept: open, left: folded } = share(fitting, { room: OPEN_ROWS, size: () => 1 });
  const digests = `<sub>old ${code(compared.old.snapshot)}<br>new ${code(compared.new.snapshot)}</sub>\n`;
  const parts = [
    headline(report),
    merge !== undefined && mergeHeadline(merge),
    open.length > 0 && table(open),
    folded.length > 0 && `<details><summary>${counted(folded)}</summary>\n\n${table(folded)}\n</details>\n`,
    left.length > 0 && `${counted(left)} not shown: \`bailiwick diff\` lists all.\n`,
    ...pairs,
    morePairs > 0 && `${count(morePairs, 'more change')} of \`exclusive\` not shown: \`bailiwick diff\` lists all.\n`,
    ...scopeLines(report, code).map((text) => `**${text}**\n`),
    ...checkLines(compared.checks).map(
      ({ kind, change, names }) =>
        `**${kind} ${change}**${names.length === 0 ? '' : `: ${shortList(names.map(code), SHOWN_CHECKS)}`}\n`,
    ),
    ...changes,
    moreChanges > 0 && `${count(moreChanges, 'more change')} of checks not shown: \`bailiwick diff\` lists all.\n`,
    `${certificate(report)}.\n`,
    digests,
  ];
  return parts.filter((part) => part !== false).join('\n');
}

/** How checks changed, as many lines as there is room for. What only a merge weakens comes first. */
function changesOf({ checks, merge }: ComparedPolicies): Fitting {
  return withinRoom([
    ...(merge?.checks ?? []).map(({ text, ...check }) => {
      const shown = text === undefined ? check : { ...check, text: code(text) };
      return `- **the merge alone**: ${emergentText(shown, code)}\n`;
    }),
    ...changeLines(checks).map(
      ({ name, text, weaker }) => `- ${code(name)}${weaker ? ' **weaker**' : ''}: ${code(text)}\n`,
    ),
  ]);
}

interface Fitting {
  readonly kept: readonly string[];
  /** How many are left out. */
  readonly left: number;
}

function withinRoom(lines: readonly string[]): Fitting {
  let room = CHANGES;
  const kept = lines.filter((line) => (room -= line.length) >= 0);
  return { kept, left: lines.length - kept.length };
}

/** Rows marked `!` are among the gained ones, too. */
function mergeHeadline(merge: Merge): string {
  if (merge.rows.length + merge.checks.length === 0) return `${NOTHING_EMERGENT}.\n`;
  const rows = merge.rows.length === 0 ? '' : ' (rows marked `!`)';
  return `**${emergentTitle(merge)}**${rows}\n`;
}

interface SignedRow {
  /** `!` is what only the merge opens. */
  readonly sign: '!' | '+' | '−';
  readonly text: string;
}

function headline({ gained, lost, equal }: DiffReport): string {
  if (equal) return '### Access: nobody gains or loses anything\n';
  const people = (rows: readonly DiffRow[]): number => new Set(rows.flatMap((row) => row.identities)).size;
  const gain = count(people(gained), 'identity gains', 'identities gain');
  return `### Access: ${gain}, ${count(people(lost), 'identity loses', 'identities lose')}\n`;
}

/** `1 more row gained, 1,204 more rows lost` */
function counted(rows: readonly SignedRow[]): string {
  const text = (sign: SignedRow['sign'], verb: string): readonly string[] => {
    const number = rows.filter((row) => row.sign === sign).length;
    return number === 0 ? [] : [`${count(number, 'more row')} ${verb}`];
  };
  return [...text('!', 'opened by the merge alone'), ...text('+', 'gained'), ...text('−', 'lost')].join(', ');
}

/**
 * The first rows of each sign that fit into some room. What only a merge opens comes first. Each other sign has half of the rest, plus what
 * the other leaves.
 */
function share(
  rows: readonly SignedRow[],
  { room, size }: { readonly room: number; readonly size: (row: SignedRow) => number },
): { readonly kept: readonly SignedRow[]; readonly left: readonly SignedRow[] } {
  const sizeOf = (sign: SignedRow['sign']): number =>
    rows.reduce((sum, row) => (row.sign === sign ? sum + size(row) : sum), 0);
  const [gained, lost] = [sizeOf('+'), sizeOf('−')];
  const rest = Math.max(0, room - sizeOf('!'));
  const budgets = {
    '!': room,
    '+': Math.max(rest - lost, Math.floor(rest / 2)),
    '−': Math.max(rest - gained, Math.floor(rest / 2)),
  };
  const kept = new Set(rows.filter((row) => (budgets[row.sign] -= size(row)) >= 0));
  return { kept: [...kept], left: rows.filter((row) => !kept.has(row)) };
}

function table(rows: readonly SignedRow[]): string {
  const lines = rows.map(({ text }) => text);
  return `| | who | may | where | when | because |\n|---|---|---|---|---|---|\n${lines.join('')}`;
}

function markdownRow(row: ShownRow, sign: SignedRow['sign']): string {
  const when = stretchText(row);
  const preposition = row.extent === 'exact' ? '' : row.extent === 'below' ? 'below ' : 'at and below ';
  const where = [`${preposition}${code(row.namespace)}`];
  if (row.except !== undefined) where.push(`without ${shortList(row.except.map(code), SHOWN)}`);
  const leftOut = leftOutText(row);
  if (leftOut !== null) where.push(leftOut);
  const cells = [
    sign,
    shortList(row.identities.map(code), SHOWN),
    patternsOf(row.scopes).map(code).join(', '),
    where.join(', '),
    when === '' ? 'always' : when,
    shortList(row.causes.map(causeText), SHOWN),
  ];
  return `| ${cells.join(' | ')} |\n`;
}

function causeText(cause: AnyCause): string {
  const place = cause.file === undefined ? '' : ` (${code(`${cause.file}:${String(cause.line ?? 1)}`)})`;
  switch (cause.kind) {
    case 'grant':
      return `grant ${code(cause.id)} ${cause.change}${cause.fields === undefined ? '' : `: ${cause.fields.join(', ')}`}${place}${whyText(cause.reason)}`;
    case 'member':
      return cause.change === 'changed'
        ? `window of ${code(cause.member)} in ${code(cause.role)} changed${place}${whyText(cause.description)}`
        : `${code(cause.member)} ${cause.change === 'added' ? 'added to' : 'removed from'} ${code(cause.role)}${place}${whyText(cause.description)}`;
    case 'role':
      return `role ${code(cause.role)} ${cause.change}${place}${whyText(cause.description)}`;
  }
}

/** Many rows may have the same cause, so only the beginning is shown. */
function whyText(text: string | undefined): string {
  if (text === undefined) return '';
  const characters = Array.from(text);
  return `: ${code(characters.length > SHOWN_CHARACTERS ? `${characters.slice(0, SHOWN_CHARACTERS).join('')}…` : text)}`;
}

/** A code span in a cell of a table: nothing in it is a mention, a link, HTML or the end of the cell. */
function code(text: string): string {
  const safe = escapeText(text).replaceAll('|', '\\|');
  const longest = Math.max(0, ...(safe.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${safe}${fence}` : `${fence} ${safe} ${fence}`;
}
