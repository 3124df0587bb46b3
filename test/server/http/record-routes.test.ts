// GET of single records over HTTP: what is answered, what an id or a path that is none gets, and what nobody can tell apart.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { FAMILIES, scopeSetOf } from '../../../engine/index.js';
import { call, openGateway, pathOf, policyOf, raw, type Reply, type TestGateway } from '../../support/gateway.js';
import { idOf } from '../../support/query-worlds.js';
import { plant } from '../query/hostile-records.js';
import type { Json } from '../query/oracle/evaluate.js';

const ada = { provider: 'orcid', subject: 'ada' };
const wes = { provider: 'orcid', subject: 'wes' };
const policy = policyOf([
  [ada, '/labs/optics', [...FAMILIES.map((family) => `${family}:read`)]],
  [wes, '/labs/optics', FAMILIES.map((family) => `${family}:write`)],
]);

const DAY = '2030-01-02T03:04:05.006Z';
const COLLECTIONS = FAMILIES.filter((family) => family !== 'namespace');

function recordOf(id: string, fields: Json): Json {
  return {
    id: idOf(id),
    name: 'lens',
    description: null,
    properties: { rank: 3, text: 'é"\\' },
    revision: 7,
    createdAt: DAY,
    updatedAt: DAY,
    createdBy: 'ada',
    archivedAt: null,
    ...fields,
  };
}

const OWN: readonly Json[] = [
  { family: 'resource-template', version: '1', schema: { type: 'object' }, uniqueName: false },
  { family: 'resource', template: null, copiedFrom: idOf('ee') },
  {
    family: 'process-template',
    version: '2',
    schema: {},
    uniqueName: false,
    slots: [{ name: 'in', template: idOf('ee'), required: true }],
  },
  {
    family: 'process-run',
    name: null,
    template: null,
    parameters: { a: 1 },
    resources: { in: idOf('ee') },
    state: 'pending',
  },
];
const SHOWN = OWN.map((own, index) => recordOf(`a${String(index)}`, { ...own, namespace: '/labs/optics/run-7' }));
const HIDDEN = OWN.map((own, index) => recordOf(`b${String(index)}`, { ...own, namespace: '/labs/cryo' }));
const ARCHIVED = recordOf('c0', { ...OWN[1], namespace: '/labs/optics', archivedAt: DAY });
const NAMESPACES = ['/labs', '/labs/optics', '/labs/cryo', '/labs/optics/run-7'].map((namespace, index) =>
  recordOf(`d${String(index)}`, {
    family: 'namespace',
    namespace,
    name: namespace,
    archivedAt: index === 1 ? DAY : null,
  }),
);

let open: TestGateway;
let adaKey: string;
let wesKey: string;

beforeAll(async () => {
  open = await openGateway({ mode: { kind: 'serve', policy } });
  adaKey = (await open.key()).text;
  wesKey = (await open.key({ actor: 'wes', identities: [wes] })).text;
  await plant(open.db, [...SHOWN, ...HIDDEN, ARCHIVED, ...NAMESPACES]);
});

afterAll(async () => {
  await open.dispose();
});

function get(path: string, more: Partial<Parameters<typeof call>[1]> = {}): Promise<Reply> {
  return call(open.port, { method: 'GET', path: `/api/v1${path}`, key: adaKey, ...more });
}

function pathTo({ family, id }: Json): string {
  return `/${String(family)}s/${String(id)}`;
}

/** All that could tell one answer from another, except for the date and a request id of the client's. */
async function bytesOf(path: string, key = adaKey): Promise<unknown> {
  const { status, headers, text } = await get(path, { key, headers: { 'x-request-id': 'same' } });
  const { date: _, ...rest } = headers;
  return { status, headers: rest, text };
}

describe('GET of a record by its id', () => {
  it.each(SHOWN)('gives the $family whole, with its revision', async (record) => {
    const reply = await get(pathTo(record));
    expect([reply.status, reply.json]).toEqual([200, record]);
    expect(reply.headers).toMatchObject({
      etag: '"7"',
      'content-type': 'application/json',
      'bailiwick-snapshot': policy.digest,
      'cache-control': 'no-store',
    });
  });

  it('gives it as a query does, field by field in their order', async () => {
    const [, record = {}] = SHOWN;
    const { family, namespace } = record;
    const list = await call(open.port, { key: adaKey, body: { family, namespace, reach: 'exact' } });
    expect(list.text).toContain(`"items":[${(await get(pathTo(record))).text}]`);
  });

  it('gives one that is archived', async () => {
    expect((await get(pathTo(ARCHIVED))).json).toEqual(ARCHIVED);
  });

  it('takes the digits of an id in either case', async () => {
    const id = idOf('c0').toUpperCase();
    expect((await get(`/resources/${id}`)).json?.['id']).toBe(idOf('c0'));
  });

  const HEX = '01900000-0000-7000-8000-0000000000';
  const none: readonly (readonly [string, string])[] = [
    ['one that is not there', `/resources/${idOf('ff')}`],
    ...HIDDEN.map((record) => [`a ${String(record['family'])} that may not be read`, pathTo(record)] as const),
    ...SHOWN.flatMap((record) =>
      COLLECTIONS.filter((family) => family !== record['family']).map(
        (family) =>
          [`a ${String(record['family'])} among the ${family}s`, pathTo({ family, id: record['id'] })] as const,
      ),
    ),
    ['a namespace', `/resources/${idOf('d1')}`],
    ['a prototype', '/resources/__proto__'],
    ['a constructor', '/resources/constructor'],
    ['a path', '/resources/..%2f..%2fsecret'],
    ['dots', '/resources/..'],
    ['a broken encoding', '/resources/%E0%A4%A'],
    ['encoded digits', `/resources/%30${HEX.slice(1)}c0`],
    ['a NUL', `/resources/${HEX}c0%00`],
    ['braces', `/resources/{${HEX}c0}`],
    ['no hyphens', `/resources/${HEX.replaceAll('-', '')}c0`],
    ['one digit less', `/resources/${HEX}c`],
    ['one digit more', `/resources/${HEX}c00`],
    ['a parameter', `/resources/${HEX}c0;x=1`],
    ['SQL', `/resources/${HEX}c0'--`],
    ['much', `/resources/${'a'.repeat(4_000)}`],
  ];

  test.each(none)('answers %s as if there were none', async (_, path) => {
    const expected = await bytesOf(`/process-runs/${idOf('ff')}`);
    expect(await bytesOf(path)).toEqual(expected);
    expect(expected).toMatchObject({
      status: 404,
      text: JSON.stringify({
        type: '/docs/problems#record.not_found',
        title: 'There is no such record among those that the actor may read',
        status: 404,
        code: 'record.not_found',
        requestId: 'same',
      }),
    });
  });

  it('reveals nothing to an actor who may only write, nor to a key that carries less', async () => {
    const expected = await bytesOf(`/resources/${idOf('ff')}`);
    const [, record = {}] = SHOWN;
    const noScope = (await open.key({ scopes: scopeSetOf(['process-run:read']) })).text;
    const elsewhere = (await open.key({ restrictions: [pathOf('/labs/optics/run-8')] })).text;
    for (const key of [wesKey, noScope, elsewhere]) expect(await bytesOf(pathTo(record), key)).toEqual(expected);
  });

  it('tells the operator why', async () => {
    await get(pathTo(HIDDEN[1] ?? {}), { headers: { 'x-request-id': 'hidden' } });
    await get(`/resources/${idOf('ff')}`, { headers: { 'x-request-id': 'absent' } });
    const reasons = ['hidden', 'absent'].map(
      (id) => open.lines.find(({ clientRequestId }) => clientRequestId === id)?.['reason'],
    );
    expect(reasons).toEqual(['no_matching_grant', 'no record of the family']);
  });

  test.each([
    ['a slash at the end', `/resources/${idOf('c0')}/`, '404 route.not_found'],
    ['no id', '/resources/', '404 route.not_found'],
    ['no slash', '/resources', '405 request.method'],
    ['more behind it', `/resources/${idOf('c0')}/copies/all`, '404 route.not_found'],
    ['a collection in other letters', `/Resources/${idOf('c0')}`, '404 route.not_found'],
    ['a collection that is none', `/namespace/${idOf('d1')}`, '404 route.not_found'],
    ['an encoded slash before it', `/resources%2F${idOf('c0')}`, '404 route.not_found'],
    ['two slashes', `/resources//${idOf('c0')}`, '404 route.not_found'],
    ['a query string', `/resources/${idOf('c0')}?select=id`, '400 request.schema'],
    ['a fragment', `/resources/${idOf('c0')}#x`, '400 request.malformed'],
  ])('is exact: %s', async (_, path, expected) => {
    const text = await raw(
      open.port,
      `GET /api/v1${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${adaKey}\r\nConnection: close\r\n\r\n`,
    );
    expect(`${text.slice(9, 12)} ${/"code":"([^"]+)"/.exec(text)?.[1] ?? ''}`).toBe(expected);
  });
});

describe('GET of a namespace by its path', () => {
  it('gives its record, with its revision', async () => {
    const reply = await get('/namespaces/labs/optics');
    expect([reply.status, reply.headers['etag'], reply.json]).toEqual([200, '"7"', NAMESPACES[1]]);
  });

  it('gives the root to actors who may read it', async () => {
    const root = policyOf([[ada, '/', ['namespace:read']]]);
    open.gateway.policies.activate({ policy: root }, 'test');
    const reply = await get('/namespaces/');
    open.gateway.policies.activate({ policy }, 'test');
    expect(reply.json).toMatchObject({ family: 'namespace', namespace: '/', name: '/', revision: 1 });
    expect(reply.headers).toMatchObject({ etag: '"1"', 'bailiwick-snapshot': root.digest });
    expect((await get('/namespaces/')).json).toMatchObject({ code: 'authz.denied', step: 'no_matching_grant' });
  });

  it('takes one slash at the end for none, as canonicalization does', async () => {
    expect((await get('/namespaces/labs/optics/')).json).toEqual(NAMESPACES[1]);
  });

  it('denies with the step first, whether the namespace is there or not', async () => {
    const absent = await bytesOf('/namespaces/labs/nowhere');
    expect(absent).toMatchObject({ status: 403 });
    for (const path of ['/namespaces/labs/cryo', '/namespaces/labs']) expect(await bytesOf(path)).toEqual(absent);
    const step = async (key: string): Promise<unknown> =>
      (await get('/namespaces/labs/optics', { key })).json?.['step'];
    expect(await step(wesKey)).toBe('no_matching_grant');
    expect(await step((await open.key({ scopes: scopeSetOf(['resource:read']) })).text)).toBe('credential_scope');
    expect(await step((await open.key({ restrictions: [] })).text)).toBe('restriction');
  });

  it('answers an actor who may read it that there is none', async () => {
    const reply = await get('/namespaces/labs/optics/typo');
    expect([reply.status, reply.json?.['code'], reply.json?.['step']]).toEqual([404, 'namespace.not_found', undefined]);
  });

  test.each([
    ['//'],
    ['/labs//optics'],
    ['/labs/optics//'],
    ['/labs/./optics'],
    ['/labs/../labs/optics'],
    ['/..'],
    ['/../query'],
    ['/labs%252Foptics'],
    ['/labs%2F%2Foptics'],
    ['/labs%2F..%2Flabs%2Foptics'],
    ['/labs/%6fptics'],
    ['/labs/%2e%2e/labs/optics'],
    ['/labs\\optics'],
    ['/Labs/optics'],
    ['/labs/optics;x=1'],
    ['/labs/optics%00'],
    ['/labs/optics%20'],
    ['/labs/opti\u00e7s'],
    ['/labs/%E0%A4%A'],
    ['/labs/__proto__/Constructor'],
    [`/${'a'.repeat(64)}`],
    [`/a${'/a'.repeat(32)}`],
  ])('refuses %s, which is no canonical path', async (path) => {
    const bytes = `GET /api/v1/namespaces${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${adaKey}\r\nConnection: close\r\n\r\n`;
    const text = await raw(open.port, Buffer.from(bytes));
    if (path.includes('\u00e7')) {
      // No parser of HTTP takes it.
      expect(text).toMatch(/^HTTP\/1\.1 400 .*"code":"request\.malformed"/s);
      return;
    }
    expect(text).toMatch(/^HTTP\/1\.1 400 .*"code":"namespace\.invalid"/s);
    expect(text).not.toContain('optics');
  });

  it('knows no namespaces without a path', async () => {
    expect((await get('/namespaces')).json?.['code']).toBe('route.not_found');
    expect((await get('/namespacesx/labs')).json?.['code']).toBe('route.not_found');
  });
});

describe('both', () => {
  const ALLOWED = [
    [`/resources/${idOf('a1')}`, 'GET, HEAD, PATCH, DELETE'],
    ['/namespaces/labs/optics', 'GET, HEAD, PUT, PATCH'],
    ['/namespaces/labs/optics/archive', 'POST, GET, HEAD, PUT, PATCH'],
  ] as const;
  const PATHS = ALLOWED.map(([path]) => path);

  test.each(
    ALLOWED.flatMap(([path, allowed]) =>
      ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
        .filter((method) => !allowed.split(', ').includes(method))
        .map((method) => [method, path, allowed]),
    ),
  )('%s %s is 405 and told what is allowed', async (method, path, allowed) => {
    const reply = await call(open.port, { method, path: `/api/v1${path}` });
    expect([reply.status, reply.headers['allow']]).toEqual([405, allowed]);
    if (method !== 'HEAD') expect(reply.json?.['code']).toBe('request.method');
  });

  test.each(PATHS.slice(0, 2))('GET %s takes a credential and no body', async (path) => {
    expect((await call(open.port, { method: 'GET', path: `/api/v1${path}` })).json?.['code']).toBe('auth.required');
    expect((await get(path, { key: 'bwk_x_y' })).json?.['code']).toBe('auth.invalid');
    expect((await get(path, { body: {} })).json?.['code']).toBe('request.schema');
  });

  test.each([
    ['if-none-match', '"another"'],
    ['if-none-match', '7'],
    ['if-match', '"1"'],
    ['if-modified-since', 'Fri, 01 Jan 2100 00:00:00 GMT'],
    ['range', 'bytes=0-10'],
  ])('answers whole whatever %s: %s says', async (name, value) => {
    for (const path of PATHS.slice(0, 2)) {
      const { date: _, ...headers } = (await get(path, { headers: { 'x-request-id': 'same' } })).headers;
      const reply = await get(path, { headers: { 'x-request-id': 'same', [name]: value } });
      expect(reply.status).toBe(200);
      expect(reply.headers).toMatchObject(headers);
    }
  });

  it('is 304 without a body for who has the revision, and only after the decision', async () => {
    for (const path of PATHS.slice(0, 2)) {
      const { headers } = await get(path);
      const etag = String(headers['etag']);
      for (const known of [etag, '*', `W/${etag}`, `"other", ${etag}`]) {
        const reply = await get(path, { headers: { 'if-none-match': known } });
        expect([reply.status, reply.text, reply.headers['etag']]).toEqual([304, '', etag]);
        expect(reply.headers['bailiwick-snapshot']).toBe(headers['bailiwick-snapshot']);
        expect(reply.headers).not.toHaveProperty('content-length');
      }
    }
    const bare = await call(open.port, {
      method: 'GET',
      path: `/api/v1${PATHS[0]}`,
      headers: { 'if-none-match': '*' },
    });
    expect(bare.status).toBe(401);
  });

  it('is 503 where the store is gone', async () => {
    const broken = await openGateway({ mode: { kind: 'local' } });
    expect((await call(broken.port, { method: 'GET', path: '/api/v1/namespaces/' })).status).toBe(200);
    await broken.db.close();
    for (const path of ['/api/v1/namespaces/', `/api/v1/resources/${idOf('a1')}`]) {
      const reply = await call(broken.port, { method: 'GET', path });
      expect([reply.status, reply.json?.['code']]).toEqual([503, 'db.unavailable']);
    }
    await broken.dispose();
  });
});
