// Access reviews for people: what was reviewed, what was decided, and what has come of it.
import type { Region } from '../../../engine/compiler.js';
import { groupDigits, type ScopeName } from '../../../engine/index.js';
import type { NamedRow, ReviewOutcome } from '../../review/outcome.js';
import type { Population, PopulationCounts, Selection } from '../../review/population.js';
import type { Decisions } from '../../review/sheet.js';
import { grantText, patternsOf, regionText } from './words.js';
import { escapeText } from './escape.js';
import { count, firstOf } from './text.js';

/** Lists in texts end here; JSON and CSV have all. */
const SHOWN = 100;

export function selectionText({ under, persons, identities, scopes }: Selection): string {
  const parts = [
    under === '/' ? 'every namespace' : `${under} and below`,
    ...(identities === null ? ['everybody'] : [whoText(persons ?? [], identities)]),
    ...(scopes === null ? [] : [patternsOf(scopes).join(', ')]),
  ];
  return parts.join('; ');
}

/** `ann, with ad:s1, orcid:ann`: what was selected are the identities, and a name may mean others by now. */
function whoText(persons: readonly string[], identities: readonly string[]): string {
  const all = identities.length === 0 ? 'nobody' : identities.join(', ');
  return persons.length === 0 ? all : `${persons.join(', ')}, with ${identities.length === 0 ? 'no identity' : all}`;
}

/** `132: 38 people and 2 groups, with 41 identities, by 27 grants` */
export function countsText({ rows, people, groups, identities, grants }: PopulationCounts): string {
  const who = [count(people, 'person', 'people'), ...(groups === 0 ? [] : [count(groups, 'group')])].join(' and ');
  return `${groupDigits(rows)}: ${who}, with ${count(identities, 'identity', 'identities')}, by ${count(grants, 'grant')}`;
}

/** One line for each, after a heading with their number; nothing for an empty list. */
function listed(heading: string, entries: readonly string[]): readonly string[] {
  if (entries.length === 0) return [];
  const more = (left: number): string => `  and ${count(left, 'more', 'more')}`;
  return [`${heading}: ${String(entries.length)}`, ...firstOf(entries, (one) => `  ${one}`, { most: SHOWN, more })];
}

type RowText = (named: Pick<NamedRow, 'row'>) => string;

/** `r-…  orcid:ann (ann) *:read at and below /labs, by crew-reads` */
function rowTextOf({ rows }: Pick<Population, 'rows'>): RowText {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ({ row: id }) => {
    const row = byId.get(id);
    if (row === undefined) return escapeText(id);
    const { identity, person, scopes, namespace, extent, grant } = row;
    const who = `${identity}${person === undefined ? '' : ` (${person})`}`;
    return escapeText(
      `${id}  ${who}  ${patternsOf(scopes).join(', ')} ${regionText({ namespace, extent })}, by ${grant.id}`,
    );
  };
}

type Checked = Pick<Decisions, 'missing' | 'faults'> & {
  readonly population: Population;
  readonly outcome: ReviewOutcome;
};

export function renderOutcome({ population, outcome, missing, faults }: Checked): string {
  const rowText = rowTextOf(population);
  const lines = [
    ...listed(
      'faults of sheets',
      faults.map(({ sheet, line, message, row }) =>
        escapeText(`${sheet}:${String(line)}: ${row === undefined || row === '' ? '' : `${row}: `}${message}`),
      ),
    ),
    ...listed(
      'not decided',
      missing.map((one) => `${rowText(one)}${one.why === 'absent' ? ': in no sheet' : ''}`),
    ),
    ...outcomeLines(outcome, rowText),
    ...totalLines(outcome),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function outcomeLines(
  { stillHeld, covered, lapsed, appeared, ownDecisions, at }: ReviewOutcome,
  rowText: RowText,
): readonly string[] {
  return [
    ...listed(
      'revoked, and still held',
      stillHeld.map((one) => {
        const parts = one.left.map(
          (part) => `\n    ${partText(part, at)}, by ${part.grants.map(grantText).join(', ')}`,
        );
        return `${rowText(one)}${one.state === 'partly' ? ': in part' : ''}${parts.join('')}`;
      }),
    ),
    ...listed('revoked, while rows that were not revoked give the same', covered.map(rowText)),
    ...listed(
      'not revoked, and no longer held',
      lapsed.map((one) => `${rowText(one)}${one.state === 'partly' ? ': in part' : ''}`),
    ),
    ...listed(
      'appeared since',
      appeared.map(
        (row) =>
          `${escapeText(row.identities.join(', '))}\n    ${partText(row, at)}, by ${row.causes.map(grantText).join(', ')}`,
      ),
    ),
    ...listed('decided by their own holder', ownDecisions.map(rowText)),
  ];
}

interface Part extends Region {
  readonly scopes: readonly ScopeName[];
  readonly from: string | null;
  readonly until: string | null;
}

/** Whatever is held when it is looked at has no beginning that matters. */
function partText({ scopes, from, until, ...region }: Part, at: string): string {
  const begin = from === null || from === at ? '' : ` from ${from}`;
  return `${patternsOf(scopes).join(', ')} ${regionText(region)}${begin}${until === null ? '' : ` until ${until}`}`;
}

export function totalLines({ totals, revoked, snapshot, at }: ReviewOutcome): readonly string[] {
  const { rows, kept, revoked: taken, undecided } = totals;
  const open = undecided === 0 ? '' : `, ${String(undecided)} not decided`;
  const { gone, ended, covered, partly, held } = revoked;
  const parts = [
    `${String(gone)} gone`,
    ended > 0 && `${String(ended)} ended by themselves`,
    covered > 0 && `${String(covered)} given by other rows`,
    partly > 0 && `${String(partly)} held in part`,
    held > 0 && `${String(held)} still held`,
  ].filter((part) => part !== false);
  return [
    `${count(rows, 'row')}: ${String(kept)} kept, ${String(taken)} revoked${open}`,
    `checked against ${snapshot} at ${at}${taken === 0 ? '' : `; of the revoked: ${parts.join(', ')}`}`,
  ];
}
