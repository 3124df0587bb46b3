// Instants: milliseconds since 1970 in UTC, read from RFC 3339 text with an offset (docs/meaning.md "Time").

declare const brand: unique symbol;

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number & { readonly [brand]: 'Instant' };

const PATTERN =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?(?:Z|(?!-00:00)([+-])(\d{2}):(\d{2}))$/;

/**
 * The first and last instants that RFC 3339 can write in UTC. With an offset, a text could name instants outside the
 * years of four digits.
 */
export const FIRST_INSTANT = Date.parse('0000-01-01T00:00:00.000Z');
export const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads RFC 3339 with an offset, upper-case `T` and `Z`, at most millisecond digits, no leap seconds, in the years 0000
 * to 9999 of UTC. Null for anything else, also for `-00:00`, which says that the offset is not known.
 */
export function parseInstant(text: unknown): Instant | null {
  if (typeof text !== 'string' || text.length > 35) return null;
  const match = PATTERN.exec(text);
  if (match === null || text.endsWith('\n')) return null;
  const field = (index: number): number => Number(match[index] ?? '0');
  const [year, month, day, hour, minute, second] = [field(1), field(2), field(3), field(4), field(5), field(6)];
  const offsetHour = field(9);
  const offsetMinute = field(10);
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCFullYear() !== year || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second, Number((match[7] ?? '').padEnd(3, '0')));
  const offset = (offsetHour * 60 + offsetMinute) * 60_000 * (match[8] === '-' ? -1 : 1);
  const instant = date.getTime() - offset;
  return instant < FIRST_INSTANT || instant > LAST_INSTANT ? null : (instant as Instant);
}

/** RFC 3339 in UTC with milliseconds and `Z`. */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString();
}

/** When something is in force, in milliseconds since 1970: `from <= t < until`. An open end is infinite. */
export interface Window {
  readonly from: number;
  readonly until: number;
}

/** Ends before all time. */
const NEVER: Window = Object.freeze({ from: -Infinity, until: -Infinity });

/**
 * Nobody can ask before the first instant or after the last one. So a window that begins at the first instant counts as
 * having no beginning, and one that has ended by then is never in force. At the last instant one can still ask, so a
 * begin or end there counts.
 */
export function windowOf(bounds: { readonly notBefore: number | null; readonly expires: number | null }): Window {
  const from = bounds.notBefore ?? -Infinity;
  const until = bounds.expires ?? Infinity;
  if (until <= FIRST_INSTANT || from > LAST_INSTANT) return NEVER;
  return { from: from <= FIRST_INSTANT ? -Infinity : from, until: until > LAST_INSTANT ? Infinity : until };
}

export function instantOf(milliseconds: number): Instant {
  return Math.trunc(milliseconds) as Instant;
}
