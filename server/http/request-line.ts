// What is wrong with a request before anybody asks who sent it: its target and those headers that say where it goes and who
// it is from, where a second one would leave open which of the two counts (design 6).
import type { IncomingMessage } from 'node:http';
import { HTTP_LIMITS } from '../limits.js';
import { ApiProblem } from '../problem.js';

/** Only origin form, `/path`: nothing that could be read as another authority or another path. */
export function checkTarget(request: IncomingMessage): void {
  const target = request.url ?? '';
  if (target.length > HTTP_LIMITS.targetCharacters) throw new ApiProblem('request.uri_too_long');
  if (!target.startsWith('/') || target.includes('#')) throw malformed('the request target must be a path');
}

const HOST = /^(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** The headers of which there can be one at most. Node keeps the first of several, or joins them. */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-type',
  'content-encoding',
  'origin',
  'expect',
]);
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE].map((name) => name.length));

export function checkHeaders(request: IncomingMessage): { readonly host: string; readonly origin: string | undefined } {
  const { rawHeaders } = request;
  if (rawHeaders.length > 2 * HTTP_LIMITS.headers) throw malformed('there are too many headers');
  let seen = '';
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] ?? '';
    if (!SINGLE_LENGTHS.has(raw.length)) continue;
    const name = raw.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.includes(`${name};`)) throw malformed('a header that can stand once stands twice');
    seen += `${name};`;
  }
  const { host, origin } = request.headers;
  if (host === undefined || !HOST.test(host)) throw malformed('there must be one Host, a name or an address');
  return { host, origin };
}

function malformed(message: string): ApiProblem {
  return new ApiProblem('request.malformed', { errors: [{ pointer: '', code: 'request.malformed', message }] });
}
