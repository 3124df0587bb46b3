// What changes by itself, on a terminal and as JSON.
import type { Calendar, CalendarChange } from '../../../engine/compiler.js';
import { formatInstant, type Instant, instantOf } from '../../../engine/index.js';
import { type AnyRow, renderRows, rowJson } from './diff.js';
import { escapeText } from './escape.js';
import type { Paint } from './terminal.js';
import { count } from './text.js';

/** How long the calendar of a policy is unless it is said. */
export function yearAfter(instant: Instant): Instant {
  const date = new Date(instant);
  date.setUTCFullYear(date.getUTCFullYear() + 1);
  return laterBy(instant, date.getTime() - instant);
}

export function laterBy(instant: Instant, milliseconds: number): Instant {
  return instantOf(Math.min(instant + milliseconds, Date.parse('9999-12-31T23:59:59.999Z')));
}

export function renderCalendar(calendar: Calendar, paint: Paint): string {
  return [
    ...calendar.changes.map(
      (change) => `${paint('strong', formatInstant(change.at))}\n${changeLines(change, paint).join('')}`,
    ),
    ...unprovedLines(calendar, paint),
    calendar.cutAt === undefined ? '' : paint('error', cutText(calendar)),
    `${summaryOf(calendar)}\n`,
  ].join('');
}

export function unprovedLines({ unproved }: Calendar, paint: Paint): readonly string[] {
  return unproved.map((id) => `guardrail ${escapeText(id)}: ${paint('error', 'could not be proved')}\n`);
}

/** Who gains and loses what, and which guardrails break and come to hold. */
export function changeLines({ gained, lost, guardrails }: CalendarChange, paint: Paint): readonly string[] {
  return [
    ...renderRows(gained, { sign: paint('good', '+'), timeOf: endOf('until') }, paint),
    ...renderRows(lost, { sign: paint('error', '-'), timeOf: endOf('and again from') }, paint),
    ...guardrails.map(
      ({ id, holds }) =>
        `guardrail ${escapeText(id)} ${holds ? paint('good', 'comes to hold') : paint('error', 'breaks')}\n`,
    ),
  ];
}

function endOf(word: string): (row: AnyRow) => string {
  return ({ until }) => (until === null ? '' : `${word} ${formatInstant(until)}`);
}

function summaryOf({ from, until, cutAt, changes }: Calendar): string {
  const when = `from ${formatInstant(from)} until ${formatInstant(cutAt ?? until)}`;
  return changes.length === 0
    ? `no access changes by itself ${when}`
    : `access changes by itself at ${count(changes.length, 'instant')} ${when}, and at no other`;
}

export function cutText({ cutAt }: Calendar): string {
  if (cutAt === undefined) return '';
  const at = formatInstant(cutAt);
  return `there is more than one calendar can list: what changes from ${at} on is left out; see it with \`--from ${at}\`\n`;
}

/** In the order of the help of `calendar`. */
export function calendarJson(calendar: Calendar, snapshot: string): object {
  const { from, until, changes, cutAt, unproved } = calendar;
  return {
    from: formatInstant(from),
    until: formatInstant(until),
    snapshot,
    changes: changes.map(({ at, gained, lost, guardrails }) => ({
      at: formatInstant(at),
      gained: gained.map(rowJson),
      lost: lost.map(rowJson),
      guardrails,
    })),
    cutAt: cutAt === undefined ? undefined : formatInstant(cutAt),
    unproved: unproved.length === 0 ? undefined : unproved,
  };
}
