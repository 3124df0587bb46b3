// A calendar of changes as iCalendar (RFC 5545): an event for each instant at which access changes by itself.
import { createHash } from 'node:crypto';
import type { Calendar, CalendarChange } from '../../../engine/compiler.js';
import { formatInstant, type Instant, instantOf } from '../../../engine/index.js';
import { programVersion } from '../../lib/version.js';
import { changeLines, cutText } from './calendar.js';
import { escapeText } from './escape.js';
import { plain } from './terminal.js';
import { count, firstOf } from './text.js';

export interface Published {
  /** Its name. */
  readonly policy: string;
  /** When the file is made, in milliseconds since 1970. */
  readonly stamp: number;
}

/** Lines of the description of one event; the others are counted. */
const SHOWN_LINES = 100;
/** RFC 5545 3.1: octets of a line without its end. */
const LINE_OCTETS = 75;

/** Each line ends with CRLF; none is longer than 75 octets, and none is broken inside a character. */
export function renderICalendar(calendar: Calendar, published: Published): string {
  const events = calendar.changes.flatMap((change) => eventOf(change, published));
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    `PRODID:-//Bailiwick//bailiwick ${programVersion()}//EN`,
    'CALSCALE:GREGORIAN',
    ...(events.length > 0 ? events : emptyOf(calendar, published)),
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join('');
}

/** An event without an end takes no time. */
function eventOf(change: CalendarChange, { policy, stamp }: Published): readonly string[] {
  const lines = changeLines(change, plain).flatMap((text) => text.trimEnd().split('\n'));
  const more = (left: number): string => `and ${count(left, 'more line')}`;
  const shown = firstOf(lines, (line) => line, { most: SHOWN_LINES, more });
  return [
    'BEGIN:VEVENT',
    `UID:${uidOf(policy, change.at)}`,
    `DTSTAMP:${utc(instantOf(stamp))}`,
    `DTSTART:${utc(change.at)}`,
    `SUMMARY:${textOf(`${policy}: ${summaryOf(change)}`)}`,
    `DESCRIPTION:${textOf([formatInstant(change.at), ...shown].join('\n'))}`,
    'TRANSP:TRANSPARENT',
    'END:VEVENT',
  ];
}

/** A calendar must have a component: an entry of a journal, which takes no place among events. */
function emptyOf(calendar: Calendar, { policy, stamp }: Published): readonly string[] {
  const [from, until] = [formatInstant(calendar.from), formatInstant(calendar.until)];
  return [
    'BEGIN:VJOURNAL',
    `UID:${uidOf(policy, calendar.from)}`,
    `DTSTAMP:${utc(instantOf(stamp))}`,
    `DTSTART:${utc(calendar.from)}`,
    `SUMMARY:${textOf(`${policy}: no access changes by itself from ${from} until ${until}${cutText(calendar)}`)}`,
    'END:VJOURNAL',
  ];
}

/** `3 identities gain, 1 identity loses access; guardrail two-owners breaks` */
function summaryOf({ gained, lost, guardrails }: CalendarChange): string {
  const people = (rows: CalendarChange['gained']): number => new Set(rows.flatMap((row) => row.identities)).size;
  const moved = [
    [people(gained), 'gains', 'gain'],
    [people(lost), 'loses', 'lose'],
  ] as const;
  const texts = moved
    .filter(([number]) => number > 0)
    .map(([number, one, many]) => `${count(number, 'identity', 'identities')} ${number === 1 ? one : many}`);
  return [
    ...(texts.length === 0 ? [] : [`${texts.join(', ')} access`]),
    ...guardrails.map(({ id, holds }) => `guardrail ${id} ${holds ? 'comes to hold' : 'breaks'}`),
  ].join('; ');
}

/** The same for the same policy and instant, so that a calendar program replaces what it has. */
function uidOf(policy: string, at: Instant): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(['bailiwick.calendar', policy, formatInstant(at)]))
    .digest('hex');
  const variant = ((parseInt(hash.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    variant + hash.slice(17, 20),
    hash.slice(20, 32),
  ].join('-');
}

/** Without fractions of a second, for which iCalendar has no form. */
function utc(instant: Instant): string {
  return `${formatInstant(instant).slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** A value of the type TEXT. Line ends are its own; of the policy's texts there are none. */
function textOf(text: string): string {
  return text
    .split('\n')
    .map((line) => escapeText(line).replaceAll(/[\\;,]/g, '\\$&'))
    .join('\\n');
}

/** Whatever follows the first line begins with a space, which counts. */
function fold(line: string): string {
  let folded = '';
  let octets = 0;
  for (const character of line) {
    const more = Buffer.byteLength(character);
    if (octets + more > LINE_OCTETS) {
      folded += '\r\n ';
      octets = 1;
    }
    folded += character;
    octets += more;
  }
  return folded;
}
