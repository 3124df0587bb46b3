// A client of AuthZEN: what it sends may be wrong in every way, and what comes back is JSON.
import { request as httpRequest } from 'node:http';
import { type AuthzenVocabulary, readVocabulary } from '../../server/asking/vocabulary.js';

export interface Said {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

export interface Saying {
  /** POST unless given. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string | null;
}

/** The body is sent as JSON unless it is a text or bytes already. */
export function ask(
  port: number,
  path: string,
  { method = 'POST', headers = {}, key = null, body }: Saying & { readonly body: unknown },
): Promise<Said> {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const sent = {
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers: sent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const said: unknown = JSON.parse(Buffer.concat(chunks).toString());
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: said });
      });
    });
    request.on('error', reject);
    if (body !== undefined) request.write(text);
    request.end();
  });
}

export function vocabularyOf(written: object): AuthzenVocabulary {
  const read = readVocabulary(written);
  if (!read.ok) throw new Error(read.message);
  return read.value;
}

export const WORDS = {
  subjects: { user: { provider: 'orcid' } },
  resources: {
    lab: { at: '/labs' },
    room: { under: '/labs', ids: { Main: '/shared' } },
    route: { ids: { '/users/{userId}': '/labs/x', '/vault': '/vault' } },
    thing: { store: 'resource' },
  },
  actions: { can_read: 'resource:read', can_update: 'resource:write' },
};
