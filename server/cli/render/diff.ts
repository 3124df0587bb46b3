// `diff` on a terminal and as JSON. The certificate comes last: how much was compared, and that nothing else differs.
import type { CellRow, ChecksDiff, DiffReport, Emergent, EmergentCheck } from '../../../engine/compiler.js';
import { groupDigits } from '../../../engine/index.js';
import { type AnyCause, causeText } from '../../authoring/causes.js';
import { count, firstOf } from './text.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { exactJson, instantJson } from '../../json/exact-json.js';
import { patternsOf, regionText, shortList, stretchText } from './words.js';

/** The two policies. */
export interface ComparedPolicies {
  readonly old: { readonly snapshot: string; readonly decisions: string };
  readonly new: { readonly snapshot: string; readonly decisions: string };
  readonly checks: ChecksDiff;
  /** Present if reviewed policies were named. */
  readonly merge?: Merge;
}

/** What a merge opens and drops that no reviewed policy did by itself. */
export interface Merge extends Emergent {
  readonly checks: readonly EmergentCheck[];
  /** Snapshot digests, in the order of the command line. */
  readonly reviewed: readonly string[];
}

/** Entries of a row that text shows. The others are counted; JSON lists all. */
const SHOWN_IDENTITIES = 8;
const SHOWN_CAUSES = 8;
/** Up to this many rows that differ only in the identities and exceptions that they name are shown one by one. */
const SHOWN_ALIKE = 8;
export const SHOWN_CHECKS = 8;

export function renderDiff(report: DiffReport, compared: ComparedPolicies, paint: Paint): string {
  return [
    ...renderRows(report.gained, { sign: paint('good', '+'), timeOf: stretchText }, paint),
    ...renderRows(report.lost, { sign: paint('error', '-'), timeOf: stretchText }, paint),
    ...exclusiveLines(report).map(
      (line) => `${line.gives ? paint('good', '+') : paint('error', '-')} ${exclusiveText(line, escapeText)}\n`,
    ),
    ...scopeLines(report).map((text) => `${text}\n`),
    report.gained.length + report.lost.length + exclusiveLines(report).length === 0
      ? `${paint('good', 'no access is gained or lost')}\n`
      : '',
    ...checkLines(compared.checks).map(
      ({ kind, change, names }) =>
        `${paint(change === 'added' ? 'good' : 'error', kind)} ${change}${names.length === 0 ? '' : `: ${shortList(names.map(escapeText), SHOWN_CHECKS)}`}\n`,
    ),
    ...changeLines(compared.checks).map(
      ({ name, text, weaker }) => `  ${name}${weaker ? ` ${paint('error', 'weaker')}` : ''}: ${escapeText(text)}\n`,
    ),
    ...(compared.merge === undefined ? [] : mergeLines(compared.merge, paint)),
    `${certificate(report)}\n`,
    paint('faint', `old ${compared.old.snapshot}\nnew ${compared.new.snapshot}\n`),
    paint('faint', (compared.merge?.reviewed ?? []).map((snapshot) => `reviewed ${snapshot}\n`).join('')),
  ].join('');
}

function mergeLines(merge: Merge, paint: Paint): readonly string[] {
  if (merge.rows.length + merge.checks.length === 0) return [`${paint('good', NOTHING_EMERGENT)}\n`];
  return [
    `${paint('error', emergentTitle(merge))}\n`,
    ...renderRows(merge.rows, { sign: paint('error', '!'), timeOf: stretchText }, paint),
    ...merge.checks.map(
      (check) => `${paint('error', '!')} ${escapeText(emergentText(check, (name) => `\`${name}\``))}\n`,
    ),
  ];
}

export const NOTHING_EMERGENT = 'the merge opens nothing that a reviewed change did not open by itself';

export function emergentTitle({ rows, cells, checks }: Merge): string {
  const opened =
    rows.length === 0 ? [] : [`opens ${count(Number(cells), 'cell')} that no reviewed change opened by itself`];
  const weaker = checks.length === 0 ? [] : ['weakens checks that no reviewed change weakened in this way'];
  return `the merge ${[...opened, ...weaker].join(', and ')}`;
}

/** One line. `name` quotes a name for where the text is shown. */
export function emergentText({ kind, change, name, text }: EmergentCheck, quoted: (name: string) => string): string {
  const why = text === undefined ? '' : `: ${text}`;
  switch (kind) {
    case 'accepted':
      return `findings ${quoted(name)} are accepted more often${why}`;
    default: {
      if (change === 'differs') return `${kind} differ from those of the base and of each reviewed snapshot`;
      return `${KIND_NAMES[kind]} ${quoted(name)} ${change === 'weaker' ? 'is weaker' : `was ${change}`}${why}`;
    }
  }
}

const KIND_NAMES = Object.freeze({
  delegation: 'folder',
  exclusive: 'the exclusive pair',
  guardrails: 'guardrail',
  people: 'person',
  tests: 'test',
});

export type AnyRow = CellRow<AnyCause>;

export interface ShownRow extends AnyRow {
  /** For rows that are shown as one: how many there are, and the most subtrees that one of them leaves out. */
  readonly rows?: number;
  readonly most?: number;
}

/**
 * Rows for people, in the order of the first of each. Rows are disjoint, so one grant to everybody is a row for each
 * set of subtrees that somebody had before. If many rows differ in nothing else, they are shown as one, which says so.
 * JSON has all of them.
 */
export function shownRows(rows: readonly AnyRow[]): readonly ShownRow[] {
  const causeText = makeCauseText();
  const groups = grouped(rows, ({ namespace, extent, scopes, from, until, causes }) =>
    JSON.stringify([namespace, extent, scopes, from, until, causes.map(causeText)]),
  );
  return groups.flatMap((alike) => (alike.length > SHOWN_ALIKE ? [asOne(alike)] : alike));
}

/** In the order of the first of each group. */
function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

function asOne(alike: readonly AnyRow[]): ShownRow {
  const [first] = alike;
  if (first === undefined) throw new Error('rows that are shown as one are some');
  const { except: _, ...common } = first;
  const most = alike.reduce((widest, { except }) => Math.max(widest, except?.length ?? 0), 0);
  return { ...common, identities: alike.flatMap(({ identities }) => identities), rows: alike.length, most };
}

/** Texts of causes, which many rows share, each made once. */
function makeCauseText(): (cause: AnyCause) => string {
  const texts = new Map<AnyCause, string>();
  return (cause) => {
    const text = texts.get(cause) ?? JSON.stringify(cause);
    texts.set(cause, text);
    return text;
  };
}

/** `without up to 9 subtrees that differ by identity (31,023 rows in JSON)`; null for a row that is shown as it is. */
export function leftOutText({ rows, most }: ShownRow): string | null {
  if (rows === undefined || most === undefined) return null;
  const subtrees = `${most === 1 ? 'a subtree' : `up to ${groupDigits(most)} subtrees`} that differ${most === 1 ? 's' : ''}`;
  return `without ${subtrees} by identity (${groupDigits(rows)} rows in JSON)`;
}

interface RowStyle {
  /** Before those concerned. */
  readonly sign: string;
  /** When the cells differ; empty for always. */
  readonly timeOf: (row: AnyRow) => string;
}

/** Each text is some lines: those concerned, what, and why. */
export function renderRows(rows: readonly AnyRow[], style: RowStyle, paint: Paint): readonly string[] {
  const alike = grouped(shownRows(rows), ({ identities, causes }) => JSON.stringify([identities, causes]));
  return alike.map((group) => renderAlike(group, style, paint));
}

function renderAlike(rows: readonly ShownRow[], { sign, timeOf }: RowStyle, paint: Paint): string {
  const [first] = rows;
  if (first === undefined) return '';
  const who = shortList(first.identities.map(escapeText), SHOWN_IDENTITIES);
  const what = rows.map((row) => {
    const when = timeOf(row);
    const leftOut = leftOutText(row);
    const where = `${regionText(row)}${leftOut === null ? '' : `, ${leftOut}`}`;
    return `    ${patternsOf(row.scopes).join(', ')} ${where}${when === '' ? '' : ` ${when}`}\n`;
  });
  const more = (left: number): string => `and ${count(left, 'more cause')}`;
  const causes = firstOf(first.causes, (cause) => `because ${escapeText(causeText(cause))}`, {
    most: SHOWN_CAUSES,
    more,
  });
  const why = causes.map((text) => `    ${paint('faint', text)}\n`);
  return `${sign} ${paint('strong', who)}\n${what.join('')}${why.join('')}`;
}

interface ExclusiveLine {
  /** Whether the pair no longer excludes each other. */
  readonly gives: boolean;
  readonly pair: readonly [string, string];
}

/** A pair that no longer excludes each other opens what an actor with both holds, so it comes first. */
export function exclusiveLines({
  exclusive: { added, removed },
}: Pick<DiffReport, 'exclusive'>): readonly ExclusiveLine[] {
  return [...removed.map((pair) => ({ gives: true, pair })), ...added.map((pair) => ({ gives: false, pair }))];
}

/** `shown` is how an identity stands where the text does. */
export function exclusiveText({ gives, pair }: ExclusiveLine, shown: (identity: string) => string): string {
  const [a, b] = [shown(pair[0]), shown(pair[1])];
  return gives
    ? `an actor with both ${a} and ${b} is no longer denied: \`exclusive\` no longer keeps them apart`
    : `an actor with both ${a} and ${b} is denied everything: \`exclusive\` keeps them apart`;
}

/** Scopes came and went with families that a policy declares. Who holds one is in the rows. */
export function scopeLines(
  { scopes: { added, removed } }: DiffReport,
  mark = (text: string): string => text,
): readonly string[] {
  const line = (names: readonly string[], what: string): readonly string[] =>
    names.length === 0 ? [] : [`scopes ${what}: ${names.map(mark).join(', ')}`];
  return [...line(added, 'added'), ...line(removed, 'removed')];
}

export interface CheckLine {
  readonly kind: 'guardrails' | 'people' | 'tests' | 'delegation';
  readonly change: 'added' | 'removed' | 'changed' | 'differ' | 'differs';
  readonly names: readonly string[];
}

/** The differences of what a policy is compiled under, one line each; for snapshots only that they differ. */
export function checkLines({ kind: known, checks }: ChecksDiff): readonly CheckLine[] {
  const kinds = ['guardrails', 'tests', 'people', 'delegation'] as const;
  if (known === 'stated')
    return kinds
      .filter((kind) => checks[kind].changed)
      .map((kind) => ({ kind, change: kind === 'delegation' ? 'differs' : 'differ', names: [] }));
  const changes = ['removed', 'changed', 'added'] as const;
  return kinds.flatMap((kind) =>
    changes.map((change) => ({ kind, change, names: checks[kind][change] })).filter(({ names }) => names.length > 0),
  );
}

export interface ChangeLine {
  readonly name: string;
  readonly text: string;
  readonly weaker: boolean;
}

/** What of guardrails and delegated folders changed, and which findings the new policy accepts. */
export function changeLines(checks: ChecksDiff): readonly ChangeLine[] {
  if (checks.kind === 'stated') return [];
  const accepted = checks.accepted.map((text) => ({ name: 'accepted findings', text, weaker: true }));
  return [
    ...[...checks.guardrails, ...checks.delegation].map(({ id, weaker, changes }) => ({
      name: id,
      text: changes.join('; '),
      weaker,
    })),
    ...accepted,
  ];
}

/** Null for what is no longer there. */
function parsed(json: string): unknown {
  return json === '' ? null : JSON.parse(json);
}

function checksJson(diff: ChecksDiff): object {
  if (diff.kind === 'stated') return diff.checks;
  const { checks, guardrails, delegation, accepted } = diff;
  const withForms = (changed: typeof guardrails): readonly object[] =>
    changed.map(({ before, after, weakenings: _, ...change }) => ({
      ...change,
      before: parsed(before),
      after: parsed(after),
    }));
  return {
    ...checks,
    guardrails: { ...checks.guardrails, changed: withForms(guardrails) },
    delegation: { ...checks.delegation, changed: withForms(delegation) },
    accepted,
  };
}

/** How much was compared, and that nothing else differs. */
export function certificate({ cells }: DiffReport): string {
  const { compared, equal, gained, lost } = cells;
  return `${groupDigits(compared)} cells compared: ${groupDigits(gained)} gained, ${groupDigits(lost)} lost, ${groupDigits(equal)} equal`;
}

export function rowJson(row: AnyRow): object {
  return { ...row, from: instantJson(row.from), until: instantJson(row.until) };
}

function mergeJson({ rows, cells, checks, reviewed }: Merge): object {
  return { reviewed, emergent: rows.map(rowJson), emergentCells: exactJson(cells), emergentChecks: checks };
}

/** Counts may be larger than a number can be. */
export function cellsJson({ compared, equal, gained, lost }: DiffReport['cells']): CellsJson {
  return { compared: exactJson(compared), equal: exactJson(equal), gained: exactJson(gained), lost: exactJson(lost) };
}

type CellsJson = Readonly<Record<keyof DiffReport['cells'], ReturnType<typeof exactJson>>>;

/** In the order of the help of `diff`. */
export function diffJson(report: DiffReport, compared: ComparedPolicies): object {
  return {
    old: compared.old,
    new: compared.new,
    equal: report.equal,
    gained: report.gained.map(rowJson),
    lost: report.lost.map(rowJson),
    exclusive: report.exclusive,
    scopes: report.scopes,
    cells: cellsJson(report.cells),
    checks: checksJson(compared.checks),
    ...(compared.merge === undefined ? {} : mergeJson(compared.merge)),
  };
}
