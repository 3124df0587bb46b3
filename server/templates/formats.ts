// The values of `format` that templates assert, as the standards define them. Values come from users, so each check looks
// at a character a bounded number of times: no pattern here can be retried in two ways on the same text, and whatever has
// a longest form is measured first.
import { isIPv4, isIPv6 } from 'node:net';
import { TEMPLATE_LIMITS } from '../limits/records.js';
import { isFolded } from './pattern-size.js';

export interface StringFormat {
  /** What a value must be, for messages. */
  readonly meaning: string;
  readonly test: (text: string) => boolean;
}

/** Null if no such format is asserted. */
export function formatOf(name: string): StringFormat | null {
  return FORMATS.get(name) ?? null;
}

/** The most milliseconds that a look at the text takes. A regular expression is read, which makes the ranges of its classes. */
export function formatTime(name: string, text: string): number {
  const { character, unicodeClass, folded } = TEMPLATE_LIMITS.formatTime;
  if (name !== 'regex' || text.length > LONGEST.regex) return text.length * character;
  const classes = text.match(/\\p/gi)?.length ?? 0;
  return text.length * character + classes * unicodeClass * (isFolded(text) ? folded : 1);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;
const QUOTED = /^"(?:[ !#-[\]-~]|\\[ -~])*"$/;
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const VARIABLE = /^(?:[a-z0-9_]|%[0-9a-f]{2})(?:\.?(?:[a-z0-9_]|%[0-9a-f]{2}))*(?::[1-9]\d{0,3}|\*)?$/i;

/** Longest forms, in characters: RFC 5321, RFC 1035, RFC 4291; and how long a pattern or variable may be here. */
const LONGEST = Object.freeze({ email: 254, local: 64, hostname: 253, address: 45, regex: 1_000, variable: 1_000 });

const FORMATS: ReadonlyMap<string, StringFormat> = new Map<string, StringFormat>([
  ['date', { meaning: 'a date, like 2027-01-31', test: isDate }],
  ['time', { meaning: 'a time with its offset, like 09:30:00Z', test: isTime }],
  ['date-time', { meaning: 'a date and time with its offset, like 2027-01-31T09:30:00Z', test: isDateTime }],
  ['duration', { meaning: 'a duration, like P1DT12H', test: isDuration }],
  ['email', { meaning: 'an e-mail address, like ines@example.org', test: isEmail }],
  ['hostname', { meaning: 'a host name, like db.example.org', test: isHostname }],
  ['ipv4', { meaning: 'an IPv4 address, like 192.0.2.1', test: isIPv4Address }],
  ['ipv6', { meaning: 'an IPv6 address, like 2001:db8::1', test: isIPv6Address }],
  ['uri', { meaning: 'a URI, like https://example.org/a', test: (text) => isReference(text, 'absolute') }],
  ['uri-reference', { meaning: 'a URI or a relative reference, like ../a', test: (text) => isReference(text, 'any') }],
  ['uri-template', { meaning: 'a URI template, like /samples/{id}', test: isUriTemplate }],
  ['uuid', { meaning: 'a UUID, like 01900000-0000-7000-8000-000000000000', test: isUuid }],
  ['json-pointer', { meaning: 'a JSON pointer, like /a/0', test: isJsonPointer }],
  [
    'regex',
    {
      meaning: `a regular expression of ECMAScript with at most ${String(LONGEST.regex)} characters, like ^a+$`,
      test: isRegex,
    },
  ],
]);

export const FORMAT_NAMES: readonly string[] = Object.freeze([...FORMATS.keys()]);

function isDate(text: string): boolean {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (found === null) return false;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0));
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:\.\d+)?(?:z|([+-])([01]\d|2[0-3]):([0-5]\d))$/i;

/** A leap second is the last of a day in UTC. */
function isTime(text: string): boolean {
  const found = TIME.exec(text);
  if (found === null) return false;
  if (found[3] !== '60') return true;
  const offset = Number(found[5] ?? 0) * 60 + Number(found[6] ?? 0);
  const minute = Number(found[1]) * 60 + Number(found[2]) - (found[4] === '-' ? -offset : offset);
  return (minute + 2 * MINUTES) % MINUTES === MINUTES - 1;
}

const MINUTES = 24 * 60;

function isDateTime(text: string): boolean {
  return /^[tT]$/.test(text.charAt(10)) && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

const DURATION_DATE = /^P(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)$/;
const DURATION_TIME = /^(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)$/;

/** RFC 3339, appendix A: nothing is left out between the largest and the smallest unit, and weeks stand alone. */
function isDuration(text: string): boolean {
  if (/^P\d+W$/.test(text)) return true;
  const at = text.indexOf('T');
  if (at === -1) return DURATION_DATE.test(text);
  return (
    (at === 1 ? text.startsWith('P') : DURATION_DATE.test(text.slice(0, at))) && DURATION_TIME.test(text.slice(at + 1))
  );
}

function isEmail(text: string): boolean {
  if (text.length > LONGEST.email) return false;
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (local.length > LONGEST.local || !(LOCAL.test(local) || QUOTED.test(local))) return false;
  if (!domain.startsWith('[') || !domain.endsWith(']')) return isHostname(domain);
  const literal = domain.slice(1, -1);
  return isIPv4Address(literal) || (/^ipv6:/i.test(literal) && isIPv6Address(literal.slice(5)));
}

function isHostname(text: string): boolean {
  return text.length <= LONGEST.hostname && text.split('.').every((label) => LABEL.test(label));
}

function isIPv4Address(text: string): boolean {
  return text.length <= LONGEST.address && isIPv4(text);
}

/** Without a zone, which RFC 4291 does not have. */
function isIPv6Address(text: string): boolean {
  return text.length <= LONGEST.address && !text.includes('%') && isIPv6(text);
}

const BROKEN_ESCAPE = /%(?![0-9a-f]{2})/i;
/** The parts of a reference, as RFC 3986 splits it. */
const PARTS = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/;
const NOT_IN_PATH = /[^a-z0-9\-._~!$&'()*+,;=:@/%]/i;
const NOT_IN_QUERY = /[^a-z0-9\-._~!$&'()*+,;=:@/?%]/i;
const NOT_IN_USER = /[^a-z0-9\-._~!$&'()*+,;=:%]/i;
const NOT_IN_NAME = /[^a-z0-9\-._~!$&'()*+,;=%]/i;

function isReference(text: string, kind: 'absolute' | 'any'): boolean {
  const parts = PARTS.exec(text);
  if (parts === null || BROKEN_ESCAPE.test(text)) return false;
  const [, scheme, authority, path = '', query = '', fragment = ''] = parts;
  if (scheme === undefined ? kind === 'absolute' : !/^[a-z][a-z0-9+.-]*$/i.test(scheme)) return false;
  if (authority !== undefined && !isAuthority(authority)) return false;
  return !NOT_IN_PATH.test(path) && !NOT_IN_QUERY.test(query) && !NOT_IN_QUERY.test(fragment);
}

function isAuthority(text: string): boolean {
  const at = text.indexOf('@');
  if (at !== -1 && NOT_IN_USER.test(text.slice(0, at))) return false;
  const host = text.slice(at + 1);
  const end = host.startsWith('[') ? host.indexOf(']') + 1 : host.search(/:|$/);
  if (!/^(?::\d*)?$/.test(host.slice(end))) return false;
  if (!host.startsWith('[')) return !NOT_IN_NAME.test(host.slice(0, end));
  const literal = host.slice(1, end - 1);
  return isIPv6Address(literal) || /^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i.test(literal);
}

const NOT_LITERAL = /[\0-\x20"'<>\\^`{|}\x7f]/;

function isUriTemplate(text: string): boolean {
  const literals = text.replaceAll(/\{[^{}]*\}/g, '');
  if (NOT_LITERAL.test(literals) || BROKEN_ESCAPE.test(literals)) return false;
  return (text.match(/\{[^{}]*\}/g) ?? []).every((expression) =>
    expression
      .slice(1, -1)
      .replace(/^[+#./;?&]/, '')
      .split(',')
      .every((variable) => variable.length <= LONGEST.variable && VARIABLE.test(variable)),
  );
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}

function isJsonPointer(text: string): boolean {
  return (text === '' || text.startsWith('/')) && !/~(?![01])/.test(text);
}

/** A pattern is read and never run. */
function isRegex(text: string): boolean {
  if (text.length > LONGEST.regex) return false;
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}
