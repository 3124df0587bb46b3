// Requests of every kind, right and wrong in their path, method, headers, credential and body, against a reference that knows the
// documents and none of the product's code: what must be refused is refused with the code that comes first, nothing is a fault of
// ours, nothing takes long, and no output holds a secret. In process, and some over sockets.
import { Agent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type App, handle, makeApp } from '../../../server/http/app.js';
import { NO_CORS } from '../../../server/http/cors.js';
import { anyHost } from '../../../server/http/host-guard.js';
import { makeServices, type GatewayServices } from '../../../server/compose.js';
import { ApiProblem } from '../../../server/problem.js';
import { assertNoSecret, lineText } from '../../support/canaries.js';
import { openGateway, policyOf, type TestGateway } from '../../support/gateway.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { testRuns } from '../../support/test-runs.js';
import { until } from '../../support/until.js';
import { peerWithoutConnection } from '../../../server/http/message.js';
import { stopCpu } from '../../support/cpu-time.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LONGEST = 250;

interface Sent {
  readonly method: string;
  readonly target: string;
  readonly credential: 'none' | 'right' | 'wrong' | 'other';
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What the documents say of a request: the one code that it must be refused with, or null if more has to be known. */
function mustBeRefusedWith({ method, target, credential, headers, body }: Sent): string | null {
  if (target.length > 4096) return 'request.uri_too_long';
  if (!target.startsWith('/') || target.includes('#')) return 'request.malformed';
  const [path = '', ...query] = target.split('?');
  const methods = ROUTES.find(([pattern]) => pattern.test(path))?.[1];
  if (methods === undefined) return 'route.not_found';
  if (!methods.includes(method)) return 'request.method';
  const isPublic = path === '/openapi.json' || path === '/docs';
  if (!isPublic && credential === 'none') return 'auth.required';
  if (!isPublic && credential !== 'right') return 'auth.invalid';
  if (query.length > 0) return 'request.schema';
  if (isPublic) return body === null ? null : 'request.schema';
  if (method === 'GET') return body === null ? null : 'request.schema';
  const type = headers['content-type'];
  if (type !== 'application/json' && type !== 'application/json; charset=utf-8') return 'request.media_type';
  return null;
}

const ROUTES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^\/api\/v1\/query(?:\/(?:count|aggregate))?$/, ['POST']],
  [/^\/api\/v1\/whoami$/, ['GET']],
  [/^\/(?:openapi\.json|docs)$/, ['GET']],
];
const PATHS = [
  '/api/v1/query',
  '/api/v1/query/count',
  '/api/v1/query/aggregate',
  '/api/v1/whoami',
  '/openapi.json',
  '/docs',
];
/** Spellings that would be one of these paths if anything were folded, decoded or resolved. */
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replace('/api', '/API'),
  (path) => path.replace('v1', '%76%31'),
  (path) => path.replace('/v1', '/./v1'),
  (path) => path.replace('/v1', '/x/../v1'),
  (path) => `${path};a=b`,
  (path) => `${path}%00`,
  (path) => path.slice(1),
  (path) => `http://other${path}`,
  (path) => `${path}#x`,
  (path) => `${path}?a=b`,
  (path) => `${path}?`,
  (path) => path + 'x'.repeat(4100),
];

const target = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...PATHS) },
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom(...PATHS), fc.constantFrom(...SPELLINGS)).map(([path, spell]) => spell(path)),
  },
  {
    weight: 1,
    arbitrary: fc.webPath().filter((path) => path.length > 0 && !/^\/(?:api\/v1\/(?!query|whoami)|docs)/.test(path)),
  },
);
const headers = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json',
      'application/json; charset=utf-8',
      'text/plain',
      'application/jsonx',
    ),
    'x-request-id': fc.constantFrom('mine', 'a b', 'x'.repeat(65), '../..', '{}'),
    'x-forwarded-for': fc.constantFrom('127.0.0.1', 'x'),
    'x-http-method-override': fc.constantFrom('GET', 'DELETE'),
    constructor: fc.constant('x'),
  },
  { requiredKeys: [] },
);
const names = fc.constantFrom(
  'family',
  'namespace',
  'where',
  'page',
  'select',
  '__proto__',
  'constructor',
  'limit',
  'and',
);
const value = fc.letrec<{ readonly any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('resource', '/', '/labs', '/Labs', '', null, true, 1e300, -1, 501, 'asc'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(names, tie('any'), { maxKeys: 4 }),
  ),
})).any;
const right = fc.record({ family: fc.constant('resource'), namespace: fc.constantFrom('/', '/labs') });
const text = fc.oneof(
  right.map((one) => JSON.stringify(one)),
  fc.tuple(right, names, value).map(([one, name, other]) => JSON.stringify({ ...one, [name]: other })),
  value.map((one) => JSON.stringify(one)),
  fc.tuple(right, fc.nat(40)).map(([one, cut]) => JSON.stringify(one).slice(0, cut)),
  fc.constantFrom('[', '{"a":1,"a":2}', '{"__proto__":1}', '[['.repeat(40), '{"family":"\\ud800"}', '9'.repeat(400)),
  fc.string(),
);
const sent: fc.Arbitrary<Sent> = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
    target,
    credential: fc.constantFrom('right', 'right', 'right', 'none', 'wrong', 'other'),
    headers,
    body: fc.option(text, { freq: 4, nil: null }),
  })
  // Half of them are asked as they would be.
  .chain((one) => fc.boolean().map((isPlain) => (isPlain ? asIs(one) : one)))
  // A body of no bytes is none.
  .map((one) => ({ ...one, body: one.body === '' ? null : one.body }));

function asIs(one: Omit<Sent, 'credential'> & { readonly credential: Sent['credential'] }): Sent {
  const isQuery = /^\/api\/v1\/query(?:\/count)?$/.test(one.target);
  if (!isQuery) return { ...one, method: 'GET', body: null };
  return { ...one, method: 'POST', headers: { ...one.headers, 'content-type': 'application/json' } };
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** Of the processor. */
  readonly milliseconds: number;
}

/** Holds one answer to the reference; another try for what cost much once, as others of the process may have. */
async function judge(one: Sent, ask: (one: Sent) => Promise<Answer>): Promise<void> {
  let { status, text: body, milliseconds } = await ask(one);
  for (let tries = 0; milliseconds > LONGEST && tries < 3; tries += 1)
    ({ status, text: body, milliseconds } = await ask(one));
  expect(milliseconds).toBeLessThan(LONGEST);
  expect(status).toBeGreaterThanOrEqual(200);
  expect(status).toBeLessThan(500);
  assertNoSecret(body, `${one.method} ${one.target}`);
  const code = status < 400 ? null : (JSON.parse(body) as { readonly code: string }).code;
  const due = mustBeRefusedWith(one);
  if (due !== null) expect(code).toBe(due);
  else if (one.body !== null && !isQueryText(one.body)) expect(status).toBe(400);
  else if (one.method === 'POST' && one.body === null) expect(status).toBe(400);
}

/** Whether a text is an object in JSON that names a family and a namespace: no other is ever answered. */
function isQueryText(body: string): boolean {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === 'object' && read !== null && 'family' in read && 'namespace' in read;
  } catch {
    return false;
  }
}

describe('any request', () => {
  let open: TestGateway;
  let services: GatewayServices;
  let app: App;
  let keys: Readonly<Record<Sent['credential'], string | null>>;
  const lines: LogLine[] = [];

  beforeAll(async () => {
    open = await openGateway();
    services = await makeServices({
      mode: { kind: 'serve', policy: policyOf([[ADA, '/', ['resource:read', 'namespace:read']]]) },
      db: open.db,
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 0 },
      log: keptLog(lines),
    });
    app = makeApp(services.routes, {
      services,
      guard: anyHost,
      showsStatus: false,
      cors: NO_CORS,
      isClosing: () => false,
    });
    const { text: key } = await open.key();
    const wrong = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
    keys = { none: null, right: `Bearer ${key}`, wrong: `Bearer ${wrong}`, other: `Basic ${key}` };
  });

  afterAll(async () => {
    await services.close();
    await open.dispose();
  });

  const headersOf = (one: Sent): Readonly<Record<string, string>> => ({
    host: 'fuzz',
    ...(one.body === null ? {} : { 'content-length': String(Buffer.byteLength(one.body)) }),
    ...one.headers,
    ...(keys[one.credential] === null ? {} : { authorization: keys[one.credential] ?? '' }),
  });

  const inProcess = async (one: Sent): Promise<Answer> => {
    const took = stopCpu();
    const bytes = Buffer.from(one.body ?? '');
    const outgoing = await handle(app, {
      method: one.method,
      url: one.target,
      rawHeaders: Object.entries(headersOf(one)).flat(),
      peer: peerWithoutConnection('192.0.2.1'),
      gone: new AbortController().signal,
      readParts: () => Promise.resolve([Uint8Array.from(bytes)]),
      readBody: (most) =>
        bytes.length > most ? Promise.reject(new ApiProblem('request.too_large')) : Promise.resolve(bytes),
    });
    return {
      status: outgoing.status,
      text: outgoing.text + outgoing.headers.join('\n'),
      milliseconds: took(),
    };
  };

  const agent = new Agent({ keepAlive: true });
  const overSocket = (one: Sent): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const took = stopCpu();
      const { method, target: path, body } = one;
      const request = httpRequest({ port: open.port, host: '127.0.0.1', method, path, agent, headers: headersOf(one) });
      request.on('error', reject);
      request.on('response', (response) => {
        let received = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text: received, milliseconds: took() });
        });
      });
      request.end(body ?? undefined);
    });

  it('in process is answered as the documents say', async () => {
    const runs = testRuns({ usual: 2_000, deep: 300_000 });
    const answer = async (one: Sent): Promise<Answer> => {
      const { text: all, ...rest } = await inProcess(one);
      return { ...rest, text: rest.status < 400 ? all : all.slice(0, all.lastIndexOf('}') + 1) };
    };
    await fc.assert(
      fc.asyncProperty(sent, (one) => judge(one, answer)),
      runs,
    );
    // Of the strangers who are refused, most are only counted, in a line at the end of each interval.
    const logged = (): number =>
      lines.reduce((sum, { refused }) => sum + (typeof refused === 'number' ? refused : 1), 0);
    await until(() => logged() >= runs.numRuns);
    for (const one of lines) assertNoSecret(lineText(one), 'a line of the log');
  });

  it('also over a socket', async () => {
    const plain = sent.filter(({ target: path }) => /^[\x21-\x7e]+$/.test(path));
    await fc.assert(
      fc.asyncProperty(plain, (one) => judge(one, overSocket)),
      testRuns({ usual: 300, deep: 10_000 }),
    );
    agent.destroy();
  });
});
