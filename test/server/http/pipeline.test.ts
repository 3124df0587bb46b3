// The pipeline in process, without a socket: what follows from a route's one value, two doors for two kinds of actor, and what the
// log says of each request. The routes here are the test's own; those of the API are asked in the other suites.
import { beforeAll, describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { instantOf } from '../../../engine/index.js';
import { bodyShape } from '../../../server/api/body-shape.js';
import { createKey } from '../../../server/auth/api-keys.js';
import { type GatewayServices, makeServices } from '../../../server/compose.js';
import type { Database } from '../../../server/db/database.js';
import { RequestAborted } from '../../../server/http/message.js';
import type { ActorRoute, AdminRoute, Call, Route } from '../../../server/http/route.js';
import { STEPS } from '../../../server/http/steps.js';
import { policyOf } from '../../support/gateway.js';
import { keptLog, type LogLine } from '../../support/kept-log.js';
import { type Ask, headerOf, openInProcess } from '../../support/in-process.js';
import { describeOnStores } from '../../support/stores.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const OUTPUT = { 200: { type: 'application/json', schema: { type: 'object' } } };

/** Answers with what it was given. */
const echo = ({
  path,
  query,
  headers,
  body,
  actor,
}: Call<{ readonly id: string }>): Promise<{ status: number; json: string }> =>
  Promise.resolve({
    status: 200,
    json: JSON.stringify({
      path,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(headers),
      body,
      actor: actor.id,
    }),
  });

const json = (maxBytes: number): NonNullable<Route['input']['body']> => ({
  types: ['application/json'],
  shape: bodyShape({ type: 'object', properties: { name: { type: 'string' } } }),
  example: {},
  maxBytes,
});

const base = { operationId: 'test', summary: 'A test', access: 'self', output: OUTPUT, run: echo } as const;
const asked: ActorRoute = {
  ...base,
  method: 'GET',
  path: '/asked',
  input: {
    query: {
      namespace: { required: true, pattern: /^\//, description: 'Where', example: '/labs' },
      depth: { required: false, pattern: /^\d$/, description: 'How deep', example: '3' },
    },
  },
};
const changed: ActorRoute = {
  ...base,
  method: 'PATCH',
  path: '/things/{id}',
  access: 'command',
  input: { headers: ['if-match'], body: { ...json(64), types: ['application/json', 'application/merge-patch+json'] } },
};
const put: ActorRoute = { ...base, method: 'PUT', path: '/things/{id}', access: 'command', input: {} };
const made: ActorRoute = {
  ...base,
  method: 'POST',
  path: '/things',
  access: 'command',
  input: {
    headers: ['idempotency-key'],
    body: { ...json(64), carries: { at: ['page', 'after'], memberBytes: 32, maxBytes: 1_000 } },
  },
};
const fails: ActorRoute = {
  ...base,
  method: 'GET',
  path: '/fails',
  input: {},
  run: () => Promise.reject(new TypeError('canary-of-a-fault')),
};
const leaves: ActorRoute = {
  ...base,
  method: 'GET',
  path: '/leaves',
  input: {},
  run: ({ gone }) =>
    new Promise((_, reject) => {
      gone.addEventListener('abort', () => {
        reject(new RequestAborted());
      });
    }),
};
const administers: AdminRoute = {
  method: 'POST',
  path: '/admin',
  operationId: 'administer',
  summary: 'A test',
  access: 'admin',
  input: {},
  output: OUTPUT,
  run: echo,
};
const ROUTES = [asked, changed, put, made, fails, leaves, administers];

describeOnStores('the pipeline', (store) => {
  let ask: Ask;
  let services: GatewayServices;
  let lines: LogLine[];
  let auth: Readonly<Record<string, string>>;
  let adminAuth: Readonly<Record<string, string>>;

  const keyOf = async (db: Database, admin: boolean): Promise<Readonly<Record<string, string>>> => {
    const fields = {
      actor: admin ? 'root' : 'ada',
      identities: admin ? [] : [ADA],
      scopes: null,
      restrictions: null,
      expires: null,
      admin,
    };
    const { text } = await createKey(db, fields, instantOf(Date.now()));
    return { authorization: `Bearer ${text}` };
  };

  beforeAll(async () => {
    lines = [];
    services = await makeServices({
      mode: { kind: 'serve', policy: policyOf([[ADA, '/', ['resource:read']]]) },
      db: store.db,
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 4 },
      log: keptLog(lines),
    });
    ask = openInProcess(services, ROUTES);
    auth = await keyOf(store.db, false);
    adminAuth = await keyOf(store.db, true);
  });

  describe('input', () => {
    test.each([
      ['/asked?namespace=/labs', 200],
      ['/asked?depth=3&namespace=%2Flabs', 200],
      ['/asked?namespace=/labs+x', 200],
      ['/asked', 400],
      ['/asked?', 400],
      ['/asked?namespace=labs', 400],
      ['/asked?namespace=/a&namespace=/b', 400],
      ['/asked?namespace=/a&other=1', 400],
      ['/asked?namespace=/a&__proto__=1', 400],
      ['/asked?namespace=/a&depth=10', 400],
      ['/asked?namespace=%ff', 400],
      ['/asked?namespace=/a&', 400],
    ])('of query parameters is what the route names: %s is %s', async (url, status) => {
      const { status: got, json: told } = await ask({ url, headers: auth });
      expect(got).toBe(status);
      if (status === 400) expect(JSON.stringify(told)).not.toMatch(/other|__proto__|labs/);
    });

    it('reaches the route decoded, the path without it', async () => {
      const { json: told } = await ask({ url: '/asked?namespace=%2Fa+b', headers: auth });
      expect(told).toMatchObject({ path: '/asked', query: { namespace: '/a b' } });
    });

    test.each([
      [undefined, 428, 'request.precondition_required'],
      ['"3"', 200, undefined],
      ['*', 400, 'request.schema'],
      ['W/"3"', 400, 'request.schema'],
      ['"3", "4"', 400, 'request.schema'],
      ['3', 400, 'request.schema'],
    ])('of If-Match is one strong tag: %s is %s', async (tag, status, code) => {
      const headers = { ...auth, ...(tag === undefined ? {} : { 'If-Match': tag }) };
      const answer = await ask({ method: 'PATCH', url: '/things/1', headers, body: '{}' });
      expect([answer.status, answer.json['code']]).toEqual([status, code]);
    });

    test.each([
      [undefined, 400],
      ['k-1', 200],
      ['k'.repeat(255), 200],
      ['k'.repeat(256), 400],
      ['a b', 400],
      ['', 400],
    ])('of Idempotency-Key is 1 to 255 visible characters: %s is %s', async (key, status) => {
      const headers = { ...auth, ...(key === undefined ? {} : { 'Idempotency-Key': key }) };
      expect((await ask({ method: 'POST', url: '/things', headers, body: '{}' })).status).toBe(status);
    });

    it('refuses a named header that stands twice', async () => {
      const headers = { ...auth, 'If-Match': ['"3"', '"4"'] };
      const { json: told } = await ask({ method: 'PATCH', url: '/things/1', headers, body: '{}' });
      expect(told['code']).toBe('request.malformed');
    });

    const NEEDED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      PATCH: { 'If-Match': '"1"' },
      POST: { 'Idempotency-Key': 'k' },
    };

    test.each([
      ['If-Match', '"1"'],
      ['If-None-Match', '*'],
      ['If-None-Match', '"1"'],
    ])('refuses a condition that the write does not take: %s: %s', async (name, value) => {
      const headers = { ...auth, ...NEEDED['POST'], [name]: value };
      const refused = await ask({ method: 'POST', url: '/things', headers, body: '{}' });
      expect([refused.status, refused.json['code']]).toEqual([400, 'request.schema']);
    });

    test.each([
      ['PATCH', '/things/1', 'application/merge-patch+json', 200],
      ['PATCH', '/things/1', 'application/json; charset=utf-8', 200],
      ['PATCH', '/things/1', 'application/merge-patchxjson', 415],
      ['POST', '/things', 'application/merge-patch+json', 415],
    ])('of a body is of the types of the route: %s %s of %s is %s', async (method, url, type, status) => {
      const headers = { ...auth, ...NEEDED[method], 'content-type': type };
      expect((await ask({ method, url, headers, body: '{}' })).status).toBe(status);
    });

    it('of another type is refused with the types of the route', async () => {
      const titles = ['PATCH /things/1', 'POST /things'].map(async (line) => {
        const [method = '', url = ''] = line.split(' ');
        const headers = { ...auth, ...NEEDED[method], 'content-type': 'text/plain' };
        return (await ask({ method, url, headers, body: '{}' })).json['title'];
      });
      expect(await Promise.all(titles)).toEqual([
        'The body must be application/json or application/merge-patch+json',
        'The body must be application/json',
      ]);
    });

    test.each([
      ['[]', [{ pointer: '', code: 'request.schema', message: 'must be an object' }]],
      ['{"name":1}', [{ pointer: '/name', code: 'request.schema', message: 'must be a string' }]],
    ])('of a body is of the shape that the route declares, which runs for no other: %s', async (body, errors) => {
      const { status, json: told } = await ask({
        method: 'PATCH',
        url: '/things/1',
        headers: { ...auth, 'If-Match': '"1"' },
        body,
      });
      expect([status, told['code'], told['errors']]).toEqual([400, 'request.schema', errors]);
    });

    test.each([
      ['at its limit', JSON.stringify({ a: 'x'.repeat(56) }), 200],
      ['beyond', JSON.stringify({ a: 'x'.repeat(57) }), 413],
      ['that carries what has room of its own', JSON.stringify({ page: { after: 'c'.repeat(900) } }), 200],
      ['that carries more', JSON.stringify({ page: { after: 'c'.repeat(990) }, a: 'x'.repeat(60) }), 413],
      ['that carries it elsewhere', JSON.stringify({ after: 'c'.repeat(900) }), 413],
    ])('of a body %s', async (_, body, status) => {
      const headers = { ...auth, 'Idempotency-Key': 'k' };
      expect((await ask({ method: 'POST', url: '/things', headers, body })).status).toBe(status);
    });

    it('has no room for what another route carries', async () => {
      const headers = { ...auth, 'If-Match': '"1"' };
      const body = JSON.stringify({ page: { after: 'c'.repeat(900) } });
      expect((await ask({ method: 'PATCH', url: '/things/1', headers, body })).status).toBe(413);
    });

    it('without a body has none', async () => {
      expect((await ask({ method: 'PUT', url: '/things/1', headers: auth })).status).toBe(200);
      expect((await ask({ method: 'PUT', url: '/things/1', headers: auth, body: '{}' })).status).toBe(400);
    });

    it('of methods is what the path has', async () => {
      const answer = await ask({ method: 'DELETE', url: '/things/1', headers: auth });
      expect([answer.status, headerOf(answer, 'allow')]).toEqual([405, 'PATCH, PUT']);
    });
  });

  describe('a door', () => {
    it('for actors opens to no admin key, and that of admins to no other', async () => {
      const replies = await Promise.all([
        ask({ url: '/asked?namespace=/', headers: auth }),
        ask({ url: '/asked?namespace=/', headers: adminAuth }),
        ask({ method: 'POST', url: '/admin', headers: adminAuth }),
        ask({ method: 'POST', url: '/admin', headers: auth }),
        ask({ method: 'POST', url: '/admin' }),
      ]);
      expect(replies.map(({ status, json: told }) => [status, told['code'] ?? told['actor']])).toEqual([
        [200, 'ada'],
        [401, 'auth.invalid'],
        [200, 'root'],
        [401, 'auth.invalid'],
        [401, 'auth.required'],
      ]);
      const reasons = lines.filter(({ status }) => status === 401).map(({ reason }) => reason);
      expect(reasons).toEqual(
        expect.arrayContaining([
          'a key for data, which this listener does not take',
          'a key for admins, which this listener does not take',
        ]),
      );
    });

    it('that is closing refuses', async () => {
      const closing = openInProcess(services, ROUTES, { isClosing: () => true });
      expect((await closing({ url: '/asked?namespace=/', headers: auth })).json['code']).toBe('shutting_down');
    });
  });

  describe('a line of the log', () => {
    it('has an id of ours, the client’s beside it, and the address', async () => {
      lines.length = 0;
      const first = await ask({ url: '/nowhere', headers: { 'X-Request-Id': 'theirs' }, address: '198.51.100.7' });
      const second = await ask({ url: '/nowhere', headers: { 'X-Request-Id': 'theirs' } });
      expect([first, second].map((answer) => [headerOf(answer, 'x-request-id'), answer.json['requestId']])).toEqual([
        ['theirs', 'theirs'],
        ['theirs', 'theirs'],
      ]);
      expect(lines.map(({ clientRequestId, address }) => [clientRequestId, address])).toEqual([
        ['theirs', '198.51.100.7'],
        ['theirs', '192.0.2.1'],
      ]);
      expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(2);
      expect(lines.every(({ requestId }) => requestId !== 'theirs')).toBe(true);
    });

    it('names the trace that the client sent, and none where it sent none that can be used', async () => {
      lines.length = 0;
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      for (const traceparent of [
        `00-${traceId}-00f067aa0ba902b7-01`,
        'canary',
        [`00-${traceId}-00f067aa0ba902b7-01`, 'x'],
      ])
        await ask({ url: '/asked?namespace=/labs', headers: { ...auth, traceparent } });
      const [continued, replaced, twice] = lines.map((line) => String(line['traceId']));
      expect(continued).toBe(traceId);
      expect([replaced, twice]).toEqual(['undefined', 'undefined']);
      expect(JSON.stringify(lines)).not.toContain('canary');
    });

    it('is written for a fault of ours whose client has left, and no more than that it left for anything else', async () => {
      const gone = AbortSignal.abort();
      lines.length = 0;
      await ask({ url: '/fails', headers: auth, gone });
      await ask({ url: '/asked', headers: auth, gone });
      expect(lines.map(({ level, message, status, path }) => [level, message, status, path])).toEqual([
        ['error', 'request', 500, '/fails'],
        ['info', 'the client went away', undefined, '/asked'],
      ]);
    });

    it('says that the client left while it waited', async () => {
      lines.length = 0;
      const leaving = new AbortController();
      const answered = ask({ url: '/leaves', headers: auth, gone: leaving.signal });
      setTimeout(() => {
        leaving.abort();
      }, 50);
      await answered;
      expect(lines).toMatchObject([{ level: 'info', message: 'the client went away', actor: 'ada', path: '/leaves' }]);
    });
  });

  it('answers anything whatsoever, and never with a fault of ours', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', '/asked', '/things/1', '/things', '/admin', '*'),
    );
    const names = fc.constantFrom('host', 'authorization', 'content-type', 'content-length', 'expect', 'if-match', 'x');
    const headers = fc.dictionary(names, fc.oneof(fc.string(), fc.constantFrom('application/json', '0', '1e9', '"1"')));
    const body = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), { nil: undefined });
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'HEAD', 'OPTIONS', '');
    await fc.assert(
      fc.asyncProperty(method, text, headers, body, fc.boolean(), async (verb, url, given, sent, isKnown) => {
        const all = isKnown ? { ...given, ...auth } : given;
        const answer = await ask({ method: verb, url, headers: all, ...(sent === undefined ? {} : { body: sent }) });
        expect(answer.status).toBeGreaterThanOrEqual(200);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
  });
});

describe('routes', () => {
  it('of one method and path are not two', () => {
    expect(() => openInProcess({} as GatewayServices, [asked, asked])).toThrow('two routes for GET /asked');
  });
});

describe('the steps before a route answers', () => {
  it('are these, in this order, for each kind of access', () => {
    const request = 'target host route open';
    const inputs = 'query headers body';
    expect(
      Object.fromEntries(Object.entries(STEPS).map(([kind, steps]) => [kind, steps.map(({ name }) => name).join(' ')])),
    ).toEqual({
      none: 'target host route',
      preflight: 'target host open addressRate noBody',
      health: 'target route query noBody',
      public: `${request} addressRate query noBody`,
      status: `${request} watcher query noBody`,
      admin: `${request} admin turn ${inputs}`,
      self: `${request} actor turn room ${inputs} crowd auditable`,
      visibility: `${request} actor turn room ${inputs} crowd auditable`,
      record: `${request} actor turn room ${inputs} crowd auditable`,
      command: `${request} actor turn room ${inputs} crowd auditable`,
      ask: `${request} actor turn room asker ${inputs} auditable`,
    });
  });
});
