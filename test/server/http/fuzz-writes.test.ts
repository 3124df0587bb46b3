// Commands, records by their ids and routes of admins, right and wrong in every part, against what the documents say of any request: which
// refusal comes first, that every answer is a described one, that nothing is a fault of ours or takes long, and that no secret and nothing
// of a body is in the log of the operator or in the audit log.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { openTrail, type AuditTrail } from '../../../server/audit/trail.js';
import { makeServices, type GatewayServices } from '../../../server/compose.js';
import { makeIdSource, systemClock } from '../../../server/lib/ports.js';
import { readLines, SILENT } from '../../support/audit-log.js';
import { assertNoSecret, keepSecret, lineText } from '../../support/canaries.js';
import { openGateway, policyOf, type TestGateway } from '../../support/gateway.js';
import { type Ask, openInProcess } from '../../support/in-process.js';
import { makeFolder } from '../../support/temp-folder.js';
import { testRuns } from '../../support/test-runs.js';
import { stopCpu } from '../../support/cpu-time.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const LONGEST = 250;
/** A snapshot that came with its statement is taken apart in a thread of its own. */
const LONGEST_IN_THREAD = 2_000;
/** Stands in bodies, keys of requests and queries, and may come back to whoever sent it, but in no log. */
const CANARY = 'canary7f3a';
const LENS = '0190c0de-0000-7000-8000-000000000001';
const ABSENT = '0190c0de-0000-7000-8000-000000000003';
const ABSENT_DIGEST = `sha256:${'0'.repeat(64)}`;

type Door = 'api' | 'admin';
type Credential = 'none' | 'right' | 'wrong' | 'other';

const COLLECTIONS = '(?:resource-templates|resources|process-templates|process-runs)';
/** Every path that is tried is one of these, or is no route. */
const ROUTES: Readonly<Record<Door, readonly (readonly [RegExp, readonly string[]])[]>> = {
  api: [
    [new RegExp(`^/api/v1/${COLLECTIONS}$`), ['POST']],
    [/^\/api\/v1\/resources\/by-name$/, ['PUT']],
    [new RegExp(`^/api/v1/(?!resources/by-name$)${COLLECTIONS}/[^/]+$`), ['GET', 'PATCH', 'DELETE']],
    [new RegExp(`^/api/v1/${COLLECTIONS}/[^/]+/(?:archive|restore|move)$`), ['POST']],
    [/^\/api\/v1\/(?:resources|process-runs)\/[^/]+\/copies$/, ['POST']],
    [/^\/api\/v1\/(?:resource|process)-templates\/[^/]+\/versions$/, ['POST']],
    [/^\/api\/v1\/namespaces\/.*\/?(?:archive|restore)$/, ['POST']],
    [/^\/api\/v1\/namespaces\/.*$/, ['GET', 'PUT', 'PATCH']],
    [/^\/api\/v1\/batch$/, ['POST']],
    [/^\/api\/v1\/permissions$/, ['GET']],
  ],
  admin: [
    [/^\/admin\/v1\/keys$/, ['GET', 'POST']],
    [/^\/admin\/v1\/keys\/[^/]+\/revoke$/, ['POST']],
    [/^\/admin\/v1\/status$/, ['GET']],
    [/^\/admin\/v1\/snapshots$/, ['GET', 'POST']],
    [/^\/admin\/v1\/snapshots\/[^/]+\/activate$/, ['POST']],
    [/^\/admin\/v1\/rollback$/, ['POST']],
    [/^\/admin\/v1\/shadow$/, ['GET', 'POST']],
  ],
};
const PATHS: Readonly<Record<Door, readonly string[]>> = {
  api: [
    '/api/v1/resources',
    '/api/v1/process-runs',
    '/api/v1/resource-templates',
    `/api/v1/resources/${LENS}`,
    `/api/v1/resources/${ABSENT}`,
    `/api/v1/process-runs/${LENS}`,
    '/api/v1/resources/by-name?namespace=/labs&name=lens',
    `/api/v1/resources/by-name?namespace=/labs&name=${CANARY}`,
    `/api/v1/resources/${LENS}/copies`,
    `/api/v1/resources/${LENS}/archive`,
    `/api/v1/resources/${LENS}/restore`,
    `/api/v1/resources/${LENS}/move`,
    `/api/v1/process-templates/${LENS}/versions`,
    '/api/v1/namespaces/',
    '/api/v1/namespaces/labs',
    '/api/v1/namespaces/labs/new',
    '/api/v1/namespaces/labs/archive',
    '/api/v1/batch',
    '/api/v1/permissions',
  ],
  admin: [
    '/admin/v1/keys',
    '/admin/v1/keys/4h7t2m9xk3q8w5zc/revoke',
    '/admin/v1/status',
    '/admin/v1/snapshots',
    `/admin/v1/snapshots/${ABSENT_DIGEST}/activate`,
    `/admin/v1/snapshots/${CANARY}/activate`,
    '/admin/v1/rollback',
    '/admin/v1/shadow',
  ],
};
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replace('/v1', '/V1'),
  (path) => path.replace('v1', '%76%31'),
  (path) => path.replace('/v1', '/x/../v1'),
  (path) => `${path};a=b`,
  (path) => `${path}%00`,
  (path) => path.replace(LENS, `${LENS.slice(0, -1)}%31`),
  (path) => path.replace(LENS, `${LENS}' OR '1'='1`.replaceAll(' ', '+')),
  (path) => path.replace('/labs', '/labs/../vault'),
  (path) => path.replace('/labs', '/LABS'),
  (path) => `${path}?${CANARY}=1`,
  (path) => `${path}?namespace=/labs`,
  (path) => path + 'x'.repeat(4_100),
];

interface Sending {
  readonly door: Door;
  readonly method: string;
  readonly url: string;
  readonly credential: Credential;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** The code that comes first, or null if more has to be known. */
function firstRefusal({ door, method, url, credential }: Sending): string | null {
  if (url.length > 4_096) return 'request.uri_too_long';
  const [path = '', ...query] = url.split('?');
  const methods = ROUTES[door].filter(([pattern]) => pattern.test(path)).flatMap(([, some]) => some);
  if (methods.length === 0) return 'route.not_found';
  if (!methods.includes(method)) return 'request.method';
  if (credential === 'none') return 'auth.required';
  if (credential !== 'right') return 'auth.invalid';
  return query.length > 0 && !/\/(?:permissions|by-name)$/.test(path) ? 'request.schema' : null;
}

const target = (door: Door): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...PATHS[door]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(...PATHS[door]), fc.constantFrom(...SPELLINGS))
        .map(([path, spell]) => spell(path)),
    },
  );

const headers = fc.record(
  {
    'content-type': fc.constantFrom(
      'application/json',
      'application/json',
      'application/merge-patch+json',
      'text/plain',
      'application/json; charset=utf-16',
    ),
    'if-match': fc.constantFrom('"1"', '"2"', '*', 'W/"1"', '"1", "2"', '1', `"${CANARY}"`, '"99999999999999999999"'),
    'idempotency-key': fc.oneof(fc.uuid(), fc.constantFrom('k', CANARY, '', 'a b', 'x'.repeat(256))),
    'x-request-id': fc.constantFrom('mine', CANARY, 'a b', 'x'.repeat(65)),
    'content-encoding': fc.constantFrom('gzip'),
  },
  { requiredKeys: [] },
);

const names = fc.constantFrom(
  ...[
    'namespace',
    'name',
    'description',
    'properties',
    'version',
    'schema',
    'slots',
    'template',
    'parameters',
    'resources',
  ],
  ...[
    'state',
    'destination',
    'commands',
    'method',
    'path',
    'body',
    'as',
    'ifMatch',
    'actor',
    'identities',
    'admin',
    'reason',
    'seal',
    'snapshot',
    'statement',
  ],
  ...['__proto__', 'constructor', CANARY],
);
const value = fc.letrec<{ readonly any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      '/labs',
      '/',
      '/vault',
      '/Labs',
      CANARY,
      LENS,
      ABSENT,
      '$a',
      '',
      null,
      true,
      1,
      -1,
      1e300,
      'running',
    ),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(names, tie('any'), { maxKeys: 4 }),
    fc.string(),
  ),
})).any;
const create = fc.record({
  namespace: fc.constantFrom('/labs', '/vault', '/none'),
  name: fc.constantFrom('n', CANARY),
});
const right = fc.oneof(
  create,
  create.map((one) => ({ ...one, version: '1', schema: { type: 'object' } })),
  fc.constant({}),
  fc.record({ description: fc.constantFrom(CANARY, null) }),
  fc.record({ destination: fc.constantFrom('/labs', '/vault') }),
  fc.array(create, { minLength: 1, maxLength: 3 }).map((all) => ({
    commands: all.map((body) => ({ method: 'POST', path: '/api/v1/resources', body })),
  })),
  fc.constant({ actor: 'ci', identities: ['orcid:ci'] }),
  fc.record({ snapshot: fc.constantFrom(null, ABSENT_DIGEST, CANARY) }),
  fc.record({ seal: fc.constantFrom(ABSENT_DIGEST, CANARY), snapshot: fc.constantFrom({}, { policy: CANARY }) }),
  fc.constant({ snapshot: CANARY, statement: { payload: CANARY, payloadType: CANARY, signatures: [] } }),
  fc.record({ reason: fc.constant(CANARY), to: fc.constantFrom(ABSENT_DIGEST, CANARY) }),
);
const text = fc.oneof(
  { weight: 4, arbitrary: right.map((one) => JSON.stringify(one)) },
  {
    weight: 3,
    arbitrary: fc.tuple(right, names, value).map(([one, name, other]) => JSON.stringify({ ...one, [name]: other })),
  },
  { weight: 1, arbitrary: value.map((one) => JSON.stringify(one)) },
  { weight: 1, arbitrary: fc.tuple(right, fc.nat(40)).map(([one, cut]) => JSON.stringify(one).slice(0, cut)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '[',
      '{"name":1,"name":2}',
      '{"__proto__":1}',
      '[['.repeat(40),
      '{"name":"\\ud800"}',
      'null',
    ),
  },
);

const sending: fc.Arbitrary<Sending> = fc.constantFrom<Door>('api', 'api', 'api', 'admin').chain((door) =>
  fc
    .record({
      door: fc.constant(door),
      method: fc.constantFrom('GET', 'POST', 'POST', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE'),
      url: target(door),
      credential: fc.constantFrom<Credential>('right', 'right', 'right', 'right', 'none', 'wrong', 'other'),
      headers,
      body: fc.option(text, { freq: 5, nil: null }),
    })
    .chain((one) =>
      fc.nat(3).map((how) => (how === 0 ? one : asMeant(how === 1 ? one : { ...one, body: bodyOf(one) }))),
    ),
);

/** A body that a route of such a path takes. */
function bodyOf({ url }: Sending): string {
  const made = { namespace: '/labs', name: CANARY };
  if (url.endsWith('/keys')) return JSON.stringify({ actor: 'ci', identities: ['orcid:ci'] });
  if (/\/(?:activate|rollback)$/.test(url)) return JSON.stringify({ reason: CANARY });
  if (url.endsWith('/shadow')) return JSON.stringify({ snapshot: ABSENT_DIGEST });
  if (url.endsWith('/snapshots')) return JSON.stringify({ seal: ABSENT_DIGEST, snapshot: { policy: CANARY } });
  if (url.endsWith('/copies')) return JSON.stringify({ destination: '/labs', name: CANARY });
  if (url.endsWith('/batch')) {
    return JSON.stringify({ commands: [{ method: 'POST', path: '/api/v1/resources', body: made }] });
  }
  return JSON.stringify(/s$/.test(url) && !url.includes('namespaces') ? made : {});
}

/** With a method that the path has, and the headers that it needs. */
function asMeant(one: Sending): Sending {
  const [path = ''] = one.url.split('?');
  const methods = ROUTES[one.door].filter(([pattern]) => pattern.test(path)).flatMap(([, some]) => some);
  const method = methods.includes(one.method) ? one.method : (methods[0] ?? one.method);
  if (method === 'GET') return { ...one, method, body: null };
  const { 'content-encoding': _, ...others } = one.headers;
  const needed = /\/(?:archive|restore)$/.test(path) || method === 'PATCH' ? { 'if-match': '"1"' } : {};
  const key = method === 'POST' ? { 'idempotency-key': 'k' } : {};
  return { ...one, method, headers: { ...needed, ...key, ...others, 'content-type': 'application/json' } };
}

describe('any write', () => {
  let open: TestGateway;
  let services: GatewayServices;
  let trail: AuditTrail;
  let folder: string;
  let doors: Readonly<Record<Door, Ask>>;
  let shown: Readonly<Record<Door, Readonly<Record<Credential, string | null>>>>;
  const lines: object[] = [];

  beforeAll(async () => {
    open = await openGateway();
    folder = await makeFolder();
    trail = await openTrail({
      ...{ db: open.db, folder, queries: 'all', onFailure: 'refuse', lag: 60_000 },
      ...{ clock: systemClock, nextId: makeIdSource(), log: SILENT },
    });
    const line = (fields: object, message: string): void => {
      lines.push({ ...fields, message });
    };
    services = await makeServices({
      mode: {
        kind: 'serve',
        policy: policyOf([[ADA, '/labs', ['resource:read', 'resource:write', 'namespace:write', 'process-run:write']]]),
      },
      db: open.db,
      rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
      concurrency: { perActor: 0 },
      log: { info: line, warn: line, error: line },
      audit: trail,
    });
    doors = { api: openInProcess(services, services.routes), admin: openInProcess(services, services.adminRoutes) };
    const { text: data } = await open.key();
    const { text: admin } = await open.key({ actor: 'root', identities: [], admin: true });
    const wrong = (key: string): string => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A');
    const of = (key: string, other: string): Readonly<Record<Credential, string | null>> => ({
      none: null,
      right: `Bearer ${key}`,
      wrong: `Bearer ${wrong(key)}`,
      // Of the other door.
      other: `Bearer ${other}`,
    });
    shown = { api: of(data, admin), admin: of(admin, data) };
    const world = [
      "INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by) VALUES (gen_random_uuid(), 0, '/labs/', '/labs', '{}', 1, now(), now(), 'test')",
      `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by) VALUES ('${LENS}', 2, '/labs/', 'lens', '{}', 1, now(), now(), 'test')`,
    ];
    for (const statement of world) await open.db.knex.raw(statement);
  });

  afterAll(async () => {
    await services.close();
    await trail.close();
    await open.dispose();
  });

  const send = async (
    one: Sending,
  ): Promise<{ readonly status: number; readonly code: unknown; readonly took: number }> => {
    const { door, method, url, credential, body } = one;
    const authorization = shown[door][credential];
    const spent = stopCpu();
    // Held to the description of its door.
    const answer = await doors[door]({
      ...{ method, url },
      headers: { ...one.headers, ...(authorization === null ? {} : { authorization }) },
      ...(body === null ? {} : { body }),
    });
    const took = spent();
    const { key, code } = answer.json;
    if (answer.status === 201 && typeof key === 'string') keepSecret(key);
    else assertNoSecret(answer.text + answer.headers.join('\n'), `the answer to ${method} ${url}`);
    return { status: answer.status, code, took };
  };

  it('is refused for what comes first, is answered as it is described, and leaves nothing of itself in a log', async () => {
    const runs = testRuns({ usual: 1_500, deep: 100_000 });
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(sending, async (one) => {
        const { status, code, ...first } = await send(one);
        const name = `${one.door} ${String(status)} ${typeof code === 'string' ? code : ''}`;
        seen.set(name, (seen.get(name) ?? 0) + 1);
        const due = firstRefusal(one);
        expect(status < 500 ? null : [status, code]).toBeNull();
        if (due !== null) expect([code, one.url]).toEqual([due, one.url]);
        else expect(['route.not_found', 'request.method', 'auth.required', 'auth.invalid']).not.toContain(code);
        let { took } = first;
        const longest = one.url.endsWith('/snapshots') ? LONGEST_IN_THREAD : LONGEST;
        for (let tries = 0; took > longest && tries < 3; tries += 1) ({ took } = await send(one));
        expect(took).toBeLessThan(longest);
      }),
      runs,
    );
    process.stderr.write(`any write: ${JSON.stringify(Object.fromEntries([...seen].sort()))}\n`);
    const due = ['api 201 ', 'api 200 ', 'admin 201 ', 'api 403 authz.denied', 'api 404 record.not_found'];
    for (const known of [...due, 'admin 422 snapshot.invalid', 'admin 404 snapshot.not_found']) {
      expect([known, seen.get(known) ?? 0]).not.toEqual([known, 0]);
    }
    const logged = lines.map(lineText).join('\n');
    assertNoSecret(logged, 'the log');
    // The path of a request that is no route is all of it that the log has.
    expect(lines.filter((one) => lineText({ ...one, path: null, clientRequestId: null }).includes(CANARY))).toEqual([]);
    await services.close();
    await trail.close();
    const events = readLines(folder);
    expect(events.length).toBeGreaterThan(runs.numRuns / 4);
    assertNoSecret(events.join('\n'), 'the audit log');
    expect(events.filter((event) => event.includes(CANARY))).toEqual([]);
  });
});
