// What can be wrong with a request before anybody asks who sent it: its target, and the headers that say where it goes,
// who it is from and what it asks. A second one of these would leave open which of the two counts.
import { HTTP_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { malformed } from './message.js';

/** Accepts only the origin form, `/path`: nothing that could be read as another authority or another path. */
export function checkTarget(target: string): void {
  if (target.length > HTTP_LIMITS.targetCharacters) throw new ApiProblem('request.uri_too_long');
  if (!target.startsWith('/') || target.includes('#')) throw malformed('the request target must be a path');
}

/**
 * The headers that the gateway looks at. A `once` header may appear at most once; the values of a `list` header are
 * joined.
 */
const KNOWN = {
  host: 'once',
  authorization: 'once',
  'content-type': 'once',
  'content-encoding': 'once',
  'content-length': 'once',
  'transfer-encoding': 'list',
  origin: 'once',
  'access-control-request-method': 'once',
  'x-forwarded-for': 'list',
  'x-forwarded-proto': 'list',
  expect: 'once',
  'if-match': 'once',
  'if-none-match': 'list',
  'idempotency-key': 'once',
  'x-request-id': 'list',
  traceparent: 'list',
  tracestate: 'list',
  accept: 'list',
  'last-event-id': 'once',
} as const satisfies Readonly<Record<string, 'once' | 'list'>>;

type KnownHeader = keyof typeof KNOWN;

/** The known headers of one request, by lower-case name. */
export type Headers = ReadonlyMap<KnownHeader, string>;

export interface ReadHeaders {
  readonly headers: Headers;
  /** A fault in the headers, to be thrown once the request can be answered. */
  readonly fault: ApiProblem | null;
}

const LENGTHS: ReadonlySet<number> = new Set(Object.keys(KNOWN).map((name) => name.length));

function isKnown(name: string): name is KnownHeader {
  return Object.hasOwn(KNOWN, name);
}

/** One pass over all headers, as they were sent. */
export function readHeaders(rawHeaders: readonly string[]): ReadHeaders {
  const headers = new Map<KnownHeader, string>();
  let fault = rawHeaders.length > 2 * HTTP_LIMITS.headers ? new ApiProblem('request.headers_too_large') : null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] ?? '';
    if (!LENGTHS.has(raw.length)) continue;
    const name = raw.toLowerCase();
    if (!isKnown(name)) continue;
    const value = rawHeaders[i + 1] ?? '';
    const before = headers.get(name);
    if (before === undefined) headers.set(name, value);
    else if (KNOWN[name] === 'list') headers.set(name, `${before}, ${value}`);
    else fault ??= malformed('a header that may appear once appears twice');
  }
  return { headers, fault };
}

const HOST = /^(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

export function hostOf(headers: Headers): string {
  const host = headers.get('host');
  if (host === undefined || !HOST.test(host)) throw malformed('there must be one Host, a name or an address');
  return host;
}
