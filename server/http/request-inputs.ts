// What a route takes besides its path and body: the query parameters and headers that it names. Everything else in a
// query string is refused. Every other header is ignored, but a condition on a write that takes none is refused.
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { malformed, misshapen } from './message.js';
import type { Headers } from './request-head.js';
import type { Input, NamedHeader, QueryInput } from './route.js';

/** The parameters that the route names, each at most once. If it names none, even a bare `?` is refused. */
export function readQuery(target: string, input: QueryInput = {}): ReadonlyMap<string, string> {
  const mark = target.indexOf('?');
  const names = Object.keys(input);
  if (mark < 0 && names.length === 0) return NONE;
  if (names.length === 0) throw misshapen('this route takes no query string');
  const found = new Map<string, string>();
  for (const part of mark < 0 ? [] : target.slice(mark + 1).split('&')) {
    const cut = part.indexOf('=');
    const name = decode(cut < 0 ? part : part.slice(0, cut));
    if (!Object.hasOwn(input, name)) throw misshapen(onlyText(names));
    if (found.has(name)) throw misshapen(`the query parameter ${name} appears twice`);
    found.set(name, decode(cut < 0 ? '' : part.slice(cut + 1)));
  }
  for (const [name, { required, pattern, description, form }] of Object.entries(input)) {
    const value = found.get(name);
    if (value === undefined && required) throw misshapen(`the query parameter \`${name}\` is required`);
    if (value !== undefined && !pattern.test(value)) {
      const fault = form === undefined ? `does not have the documented form: ${description}` : `must ${form}`;
      throw misshapen(`the query parameter ${name} ${fault}`);
    }
  }
  return found;
}

function onlyText(names: readonly string[]): string {
  const list = names.map((name) => `\`${name}\``).join(', ');
  return names.length === 1 ? `the only query parameter is ${list}` : `the only query parameters are ${list}`;
}

const NONE: ReadonlyMap<string, string> = new Map();

/** Decodes as forms encode: `+` is a space. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw malformed('the query string is not percent-encoded UTF-8');
  }
}

/** The headers that the route names. Those among `optional` may be missing. */
export function readNamedHeaders(
  headers: Pick<Headers, 'get'>,
  names: readonly NamedHeader[] = [],
  optional: readonly NamedHeader[] = [],
): ReadonlyMap<NamedHeader, string> {
  const there = optional.filter((name) => headers.get(name) !== undefined);
  if (names.length === 0 && there.length === 0) return NONE_NAMED;
  return new Map([...names, ...there].map((name) => [name, NAMED[name](headers.get(name))]));
}

const CONDITIONS = Object.freeze({ 'if-match': 'If-Match', 'if-none-match': 'If-None-Match' } as const);

/** A write that was done without its condition would be done against the client's word (RFC 9110, section 13.1). */
export function refuseConditions(headers: Pick<Headers, 'get'>, { headers: names = [], optional = [] }: Input): void {
  for (const name of ['if-match', 'if-none-match'] as const) {
    if (headers.get(name) === undefined || names.includes(name) || optional.includes(name)) continue;
    throw misshapen(`this write takes no condition in the header ${CONDITIONS[name]}`);
  }
}

const NONE_NAMED: ReadonlyMap<NamedHeader, string> = new Map();
const STRONG_TAG = /^"[\x21\x23-\x7e]*"$/;

/** Whether the text is the entity tag of one revision, and neither a list, `*` nor a weak tag. */
export function isStrongTag(text: string): boolean {
  return STRONG_TAG.test(text);
}

const VISIBLE = /^[\x21-\x7e]+$/;

const MATCH_MISSING = {
  pointer: '',
  code: 'request.precondition_required',
  message: 'the header `If-Match` is required: send the ETag of the record, like "3" with its quotes',
} as const;

const NAMED: Readonly<Record<NamedHeader, (value: string | undefined) => string>> = {
  'if-match': (value) => {
    if (value === undefined) throw new ApiProblem('request.precondition_required', { errors: [MATCH_MISSING] });
    if (!isStrongTag(value))
      throw misshapen('If-Match must be the ETag of one record, in double quotes, like "3": no list, no `*`, no `W/`');
    return value;
  },
  'if-none-match': (value) => {
    if (value !== '*')
      throw misshapen('If-None-Match must be `*`: create the record, and leave alone one that is there');
    return value;
  },
  'idempotency-key': (value) => {
    if (value === undefined) throw misshapen('the header `Idempotency-Key` is required');
    if (!VISIBLE.test(value) || value.length > HTTP_LIMITS.idempotencyKeyCharacters) {
      throw misshapen('Idempotency-Key must be 1 to 255 visible ASCII characters');
    }
    return value;
  },
};
