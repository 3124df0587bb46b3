// A door of the gateway without a socket: the same pipeline with hand-made messages.
import { handle, makeApp } from '../../server/http/app.js';
import { anyHost } from '../../server/http/host-guard.js';
import { NO_CORS } from '../../server/http/cors.js';
import { type Incoming, type Outgoing, peerWithoutConnection } from '../../server/http/message.js';
import type { Door, Services } from '../../server/http/door.js';
import type { Route } from '../../server/http/route.js';
import { ApiProblem } from '../../server/problem.js';
import { descriptionOf } from './api-description.js';
import { checkBy } from './described-answers.js';

export interface Sent {
  readonly method?: string;
  readonly url: string;
  /** By name; a list is as many headers. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly gone?: AbortSignal;
  readonly address?: string;
}

export type Ask = (sent: Sent) => Promise<Outgoing & { readonly json: Readonly<Record<string, unknown>> }>;

export function openInProcess(services: Services, routes: readonly Route[], door: Partial<Door> = {}): Ask {
  const app = makeApp(routes, {
    services,
    guard: anyHost,
    showsStatus: false,
    cors: NO_CORS,
    isClosing: () => false,
    ...door,
  });
  const check = checkBy(descriptionOf(routes));
  return async (sent) => {
    const incoming = toIncoming(sent);
    const outgoing = await handle(app, incoming);
    check({
      method: incoming.method ?? '',
      target: sent.url,
      sent: byName(incoming.rawHeaders),
      body: sent.body ?? null,
      status: outgoing.status,
      headers: byName(outgoing.headers),
      text: outgoing.text,
    });
    const isJson = headerOf(outgoing, 'content-type')?.endsWith('json') === true;
    return { ...outgoing, json: isJson ? (JSON.parse(outgoing.text) as Readonly<Record<string, unknown>>) : {} };
  };
}

function toIncoming({ method = 'GET', url, headers = {}, body, gone, address = '192.0.2.1' }: Sent): Incoming {
  const given: Readonly<Record<string, string | readonly string[]>> = {
    host: 'in-process',
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const rawHeaders = Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' ? [name, value] : value.flatMap((one) => [name, one]),
  );
  return {
    method,
    url,
    rawHeaders,
    peer: peerWithoutConnection(address),
    gone: gone ?? new AbortController().signal,
    readParts: () => Promise.resolve([Uint8Array.from(Buffer.from(body ?? ''))]),
    readBody: (most) => {
      const bytes = Buffer.from(body ?? '');
      return bytes.length > most ? Promise.reject(new ApiProblem('request.too_large')) : Promise.resolve(bytes);
    },
  };
}

export function headerOf({ headers }: Outgoing, name: string): string | undefined {
  const at = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1];
}

/** The last of each name, in lower case. */
function byName(headers: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    headers.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), headers[index + 1] ?? '']] : [])),
  );
}
