// What is wrong with a text that is not an instant or a duration, and what to write. A correction is only shown as the text to write if it
// cannot mean another time than the author meant. All else is an example, and is called one.
import { formatInstant, instantOf, LAST_INSTANT, parseInstant } from '../model/instant.js';

export interface TimeAdvice {
  /** Ends a sentence such as "`expires` …". */
  readonly fault: string;
  readonly help: string;
}

type Rule = (text: string, what: string) => TimeAdvice | null;

const NOT_ONE = 'is not a date and time with an offset';
const EXAMPLE = 'for example `2026-12-01T18:00:00Z` or `2026-12-01T18:00:00+01:00`';

export function instantAdvice(text: string, what: string): TimeAdvice {
  for (const rule of RULES) {
    const advice = rule(text, what);
    if (advice !== null) return advice;
  }
  return { fault: NOT_ONE, help: `write year, month, day, time and offset, ${EXAMPLE}` };
}

function fault(why: string, help: string): TimeAdvice {
  return { fault: `${NOT_ONE}: ${why}`, help };
}

/** The date of the next day; null after the last one. */
function dayAfter(date: string): string | null {
  const next = (parseInstant(`${date}T00:00:00Z`) ?? NaN) + 86_400_000;
  return next <= LAST_INSTANT ? formatInstant(instantOf(next)).slice(0, 10) : null;
}

const DATE_ALONE: Rule = (text, what) => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  if (parseInstant(`${text}T00:00:00Z`) === null) return null;
  const begin = `${text}T00:00:00Z`;
  const why = 'it has no time of day';
  if (what !== '`expires`') return fault(why, `write \`${begin}\` for the moment at which the day begins in UTC`);
  const after = dayAfter(text);
  const last = after === null ? '' : `, or \`${after}T00:00:00Z\` if it is the last day (both in UTC)`;
  return fault(why, `write \`${begin}\` if ${text} is already excluded${last}`);
};

const TIME = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?`;
const LOCAL = new RegExp(`^${TIME}$`);
const AWAY = new RegExp(`^(${TIME}) ?([+-])(\\d{1,2}):?(\\d{2})?$`);

/** Nobody can know which time zone was meant. */
function offsetMissing(local: string): TimeAdvice | null {
  if (!LOCAL.test(local) || parseInstant(`${local}Z`) === null) return null;
  return fault(
    'the offset from UTC is missing',
    `write \`${local}Z\` if it is UTC, else add the offset of that place on that day, for example \`${local}+02:00\``,
  );
}

const OFFSET_FORM: Rule = (text) => {
  const [, local, sign, hours = '', minutes = '00'] = AWAY.exec(text) ?? [];
  if (local === undefined || sign === undefined) return null;
  const offset = `${sign}${hours.padStart(2, '0')}:${minutes}`;
  if (offset === '-00:00')
    return fault(
      '`-00:00` says that the offset is not known',
      'write `Z` if it is UTC, else the offset, for example `+02:00`',
    );
  if (parseInstant(`${local}${offset}`) !== null)
    return fault(`its offset is written \`${offset}\`, right behind the time`, `write \`${local}${offset}\``);
  if (parseInstant(`${local}Z`) === null) return null;
  if (Number(hours) < 24 && Number(minutes) < 60)
    return fault('in UTC it is not in the years 0000 to 9999', `write a time that is, ${EXAMPLE}`);
  return fault(
    `there is no offset \`${text.slice(local.length).trim()}\``,
    'offsets go from `-23:59` to `+23:59`, for example `+02:00`',
  );
};

/** A name in place of the offset: its offset depends on the day, and its letters on who reads them. */
const ZONE_NAME: Rule = (text) => {
  const [, local, zone] = new RegExp(`^(${TIME}) ?\\[?([A-Za-z][\\w/+-]*)\\]?$`).exec(text) ?? [];
  if (local === undefined || zone === undefined || zone === 'z') return null;
  if (/^(?:UTC|GMT)$/i.test(zone) && parseInstant(`${local}Z`) !== null)
    return fault('UTC is written `Z`', `write \`${local}Z\``);
  return fault(
    `\`${zone}\` is the name of a time zone`,
    `write its offset on that day in place of the name, for example \`${local}+02:00\``,
  );
};

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** A field that is out of its range. */
const RANGE: Rule = (text) => {
  const [, year = '', month = '', day = '', hour, minute, second] =
    /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2}))?.*)?$/.exec(text) ?? [];
  if (year === '') return null;
  const fix = `correct it; a time looks like this, ${EXAMPLE}`;
  const name = MONTHS[Number(month) - 1];
  if (name === undefined) return fault(`there is no month ${month}`, fix);
  const days = new Date(Date.UTC(2000 + (Number(year) % 400), Number(month), 0)).getUTCDate();
  if (day === '00' || Number(day) > days)
    return fault(`${name} ${year} has no day ${day}`, `it has ${String(days)} days: ${fix}`);
  if (hour === '24') return hour24(text, fix);
  if (Number(hour ?? 0) > 23) return fault(`there is no hour ${hour ?? ''}`, fix);
  if (Number(minute ?? 0) > 59) return fault(`there is no minute ${minute ?? ''}`, fix);
  if (second === '60')
    return fault('there is no second 60', 'leap seconds are not accepted: write second 59, or 00 of the next minute');
  return Number(second ?? 0) > 59 ? fault(`there is no second ${second ?? ''}`, fix) : null;
};

/** Midnight at the end of a day, which RFC 3339 writes as the beginning of the next one. */
function hour24(text: string, fix: string): TimeAdvice {
  const meant = `${dayAfter(text.slice(0, 10)) ?? ''}T00${text.slice(13)}`;
  const isMidnight = /^:00:00(?:\.0+)?(?:Z|[+-])/.test(text.slice(13)) && parseInstant(meant) !== null;
  const why = 'there is no hour 24';
  return fault(why, isMidnight ? `write \`${meant}\` for midnight at the end of that day` : fix);
}

/** What is plainly the same moment in another spelling. */
const SPELLING: Rule = (text) => {
  const upper = text.replace(/^(\S{10})[Tt ]+/, '$1T').replace(/ ?z$/i, 'Z');
  const whole = upper.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?=$|Z|[+-])/, '$1:00');
  const short = whole.replace(/(\.\d{3})\d+/, '$1');
  const why =
    whole !== upper
      ? 'the seconds are missing'
      : short !== whole
        ? 'it has more than three digits behind the second'
        : 'the date, `T`, the time and `Z` or an offset stand together';
  if (short === text) return null;
  if (parseInstant(short) !== null) return fault(why, `write \`${short}\``);
  const rest = [offsetMissing, OFFSET_FORM, ZONE_NAME].map((rule) => rule(short, '')).find((advice) => advice !== null);
  return rest ?? null;
};

const OTHER_ORDER: Rule = (text) =>
  /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b/.test(text)
    ? fault('a date is written year, month, day', `write it with dashes, a time and an offset, ${EXAMPLE}`)
    : null;

const OPEN: Rule = (text, what) =>
  /^(?:never|none|forever|always|infinity|unlimited|now)$/i.test(text)
    ? fault(`\`${text}\` is not a time`, `remove ${what} if there is no such limit, else write a time, ${EXAMPLE}`)
    : null;

/** The first rule that knows the mistake explains it. */
const RULES: readonly Rule[] = [DATE_ALONE, RANGE, offsetMissing, OFFSET_FORM, ZONE_NAME, SPELLING, OTHER_ORDER, OPEN];

const LENGTH = /^P?T?([1-9][0-9]{0,8}) ?([a-z]+)$/i;
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/^s(?:ec|ecs|econds?)?$/i, 's'],
  [/^(?:m|min|mins|minutes?)$/, 'm'],
  [/^h(?:rs?|ours?)?$/i, 'h'],
  [/^d(?:ays?)?$/i, 'd'],
];
const DURATIONS = 'for example `30s`, `15m`, `24h` or `90d`';

export function durationAdvice(text: string): TimeAdvice {
  const of = (why: string, help: string): TimeAdvice => ({ fault: `is not a duration${why}`, help });
  if (/^[1-9][0-9]{0,8}$/.test(text))
    return of(': it has no unit', `write \`${text}d\` if days are meant; ${DURATIONS}`);
  const [, number = '', word = ''] = LENGTH.exec(text) ?? [];
  const unit = UNITS.find(([pattern]) => pattern.test(word))?.[1];
  if (unit !== undefined) return of('', `write \`${number}${unit}\``);
  if (/^w(?:eeks?)?$/i.test(word)) return of(': weeks are written as days', `write \`${String(Number(number) * 7)}d\``);
  if (/^(?:M|mo|months?|y|years?)$/i.test(word))
    return of(': months and years have no fixed length', 'write days, for example `90d`');
  return of('', `write a whole number above 0 and a unit, ${DURATIONS}`);
}
