// Every route of every listener, from the values that declare them: who gets past its access and who does not, and what it refuses
// whoever asks. A route that is new is tried with the others.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { instantOf } from '../../../engine/index.js';
import { createKey, type NewKey, revokeKey } from '../../../server/auth/api-keys.js';
import { formatKey, makeKeyText } from '../../../server/auth/key-text.js';
import { type GatewayServices, makeServices } from '../../../server/compose.js';
import { pathTemplate } from '../../../server/http/path-template.js';
import type { Route } from '../../../server/http/route.js';
import { declaredAdminRoutes, declaredRoutes } from '../../support/api-description.js';
import { policyOf } from '../../support/gateway.js';
import { type Ask, headerOf, openInProcess, type Sent } from '../../support/in-process.js';
import { type OpenedStore, testStores } from '../../support/stores.js';
import { until } from '../../support/until.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const KEY: NewKey = { actor: 'ada', identities: [ADA], scopes: null, restrictions: null, expires: null, admin: false };
const ADMIN: NewKey = { ...KEY, actor: 'root', identities: [], admin: true };
const ASKER: NewKey = { ...KEY, actor: 'portal', identities: [], decide: true };
const MONITOR: NewKey = { ...KEY, actor: 'prometheus', identities: [], monitor: true };
const BOTH: NewKey = { ...KEY, actor: 'both', admin: true };

/** Every credential that a request can show, by what it is. */
const CREDENTIALS = [
  'none',
  'a data key',
  'an admin key',
  'a decide key',
  'a key for monitoring',
  'a key for data and for admins',
  'a key for data and for monitoring',
  'an expired data key',
  'an expired admin key',
  'a revoked data key',
  'a revoked admin key',
  'an unknown key',
  'a wrong secret',
  'an admin key with a wrong secret',
  'a token that is none',
  'an empty token',
  'another scheme',
  'two credentials',
] as const;
type Credential = (typeof CREDENTIALS)[number];

const DOORS = [
  'the API',
  'the admin listener on loopback',
  'the admin listener elsewhere',
  'the admin socket',
] as const;
type DoorName = (typeof DOORS)[number];

const ROUTES: Readonly<Record<DoorName, readonly Route[]>> = {
  'the API': declaredRoutes(),
  'the admin listener on loopback': declaredAdminRoutes(),
  'the admin listener elsewhere': declaredAdminRoutes(),
  'the admin socket': declaredAdminRoutes(),
};

let opened: OpenedStore | undefined;
let services: GatewayServices;
let doors: Readonly<Record<DoorName, Ask>>;
let shown: Readonly<Record<Credential, readonly string[]>>;

beforeAll(async () => {
  const [store] = testStores();
  opened = await store?.open();
  if (opened === undefined) throw new Error('there is no store');
  const db = opened.database;
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  services = await makeServices({
    mode: { kind: 'serve', policy: policyOf([[ADA, '/', ['resource:*', 'namespace:read']]]) },
    db,
    rate: { perActor: 0, perAddress: 0, unauthenticated: 0 },
    concurrency: { perActor: 4 },
    log: silent,
    console: true,
  });
  const { adminRoutes, bySocket } = services;
  doors = {
    'the API': openInProcess(services, services.routes),
    'the admin listener on loopback': openInProcess(services, adminRoutes, { showsStatus: true }),
    'the admin listener elsewhere': openInProcess(services, adminRoutes),
    'the admin socket': openInProcess({ ...services, ...bySocket }, adminRoutes),
  };
  const now = instantOf(Date.now());
  const make = async (fields: NewKey): Promise<readonly string[]> => [
    `Bearer ${(await createKey(db, fields, now)).text}`,
  ];
  const makeRevoked = async (fields: NewKey): Promise<readonly string[]> => {
    const { text, key } = await createKey(db, fields, now);
    await revokeKey(db, { id: key.id, now });
    return [`Bearer ${text}`];
  };
  const data = await make(KEY);
  const admin = await make(ADMIN);
  const wrong = ([text = '']: readonly string[]): readonly string[] => [
    text.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
  ];
  shown = {
    none: [],
    'a data key': data,
    'an admin key': admin,
    'a decide key': await make(ASKER),
    'a key for monitoring': await make(MONITOR),
    'a key for data and for admins': await make(BOTH),
    'a key for data and for monitoring': await make({ ...KEY, actor: 'both', monitor: true }),
    'an expired data key': await make({ ...KEY, expires: now }),
    'an expired admin key': await make({ ...ADMIN, expires: now }),
    'a revoked data key': await makeRevoked(KEY),
    'a revoked admin key': await makeRevoked(ADMIN),
    'an unknown key': [`Bearer ${formatKey(makeKeyText())}`],
    'a wrong secret': wrong(data),
    'an admin key with a wrong secret': wrong(admin),
    'a token that is none': ['Bearer a.b.c'],
    'an empty token': ['Bearer '],
    'another scheme': ['Basic YWRhOmFkYQ=='],
    'two credentials': [...data, ...admin],
  };
});

afterAll(async () => {
  await services.close();
  await opened?.dispose();
});

/** What a request of the route needs to get past its form. */
function sentOf({ method, path, input }: Route): Sent {
  const url = path.replace('{path}', '/labs').replace('{id}', '01900000-0000-7000-8000-000000000000');
  const query = Object.entries(input.query ?? {}).flatMap(([name, { required, example }]) =>
    required ? [`${name}=${encodeURIComponent(example)}`] : [],
  );
  const named = (input.headers ?? []).map(
    (name) => [name, name === 'if-match' ? '"1"' : 'key-of-every-route'] as const,
  );
  const body = bodyOf(input);
  return {
    method,
    url: query.length === 0 ? url : `${url}?${query.join('&')}`,
    headers: Object.fromEntries(named),
    ...(body === undefined ? {} : { body: JSON.stringify(body.example) }),
  };
}

/** What is read at once, or as it arrives. */
function bodyOf({ body, upload }: Route['input']): { readonly example: unknown } | undefined {
  return body ?? upload;
}

function isOf(template: string, path: string): boolean {
  const { pattern } = pathTemplate(template);
  return typeof pattern === 'string' ? pattern === path : pattern.test(path);
}

/** Whether a credential gets past the access of a route, as the access says. */
function opens(door: DoorName, { access }: Route, credential: Credential): boolean {
  switch (access) {
    case 'public':
    case 'health':
      return true;
    case 'status':
    case 'admin':
      if (credential === 'none')
        return door === 'the admin socket' || (access === 'status' && door.endsWith('on loopback'));
      return credential === 'an admin key' || (access === 'status' && credential === 'a key for monitoring');
    case 'ask':
      return credential === 'a decide key';
    default:
      return credential === 'a data key' || credential === 'a decide key';
  }
}

async function ask(
  door: DoorName,
  sent: Sent,
  credential: Credential,
): Promise<readonly [status: number, code: string]> {
  const authorization = shown[credential];
  const outgoing = await doors[door]({
    ...sent,
    headers: { ...sent.headers, ...(authorization.length === 0 ? {} : { authorization }) },
  });
  const { code } = outgoing.json;
  return [outgoing.status, typeof code === 'string' ? code : ''];
}

it('there are routes to try', () => {
  expect(ROUTES['the API'].length).toBeGreaterThanOrEqual(10);
  expect(ROUTES['the admin socket'].length).toBeGreaterThanOrEqual(6);
});

describe.each(DOORS)('at %s', (door) => {
  const cases = ROUTES[door].map((route) => [`${route.method} ${route.path}`, route] as const);

  describe.each(cases)('%s', (_name, route) => {
    it.each(CREDENTIALS)('O01 C01 is opened by what its access says, and by nothing else: %s', async (credential) => {
      const [status, code] = await ask(door, sentOf(route), credential);
      expect(
        [500, 405, 404].includes(status) &&
          code !== 'record.not_found' &&
          code !== 'namespace.not_found' &&
          code !== 'snapshot.not_found' &&
          code !== 'key.not_found',
      ).toBe(false);
      if (credential === 'two credentials') expect([status, code]).toEqual([400, 'request.malformed']);
      else if (route.access === 'ask' && credential === 'a data key')
        expect([status, code]).toEqual([403, 'authz.asker']);
      else if (opens(door, route, credential)) expect([401, 403]).not.toContain(code.startsWith('auth.') ? status : 0);
      else expect([status, code]).toEqual([401, credential === 'none' ? 'auth.required' : 'auth.invalid']);
    });

    it('A17 takes no other method, and says so before it asks who is there', async () => {
      const [at = ''] = sentOf(route).url.split('?');
      const there = ROUTES[door].filter(({ path }) => isOf(path, at)).map(({ method }) => method);
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        if (there.some((one) => one === method || (one === 'GET' && method === 'HEAD' && route.access !== 'health')))
          continue;
        const sent = { ...sentOf(route), method };
        if (route.access === 'health' && method === 'HEAD') {
          // On a busy machine it may not be ready at once.
          await until(async () => (await doors[door](sent)).status === 200);
          continue;
        }
        const outgoing = await doors[door](sent);
        expect([method, outgoing.status]).toEqual([method, 405]);
        expect(headerOf(outgoing, 'allow')?.split(', ')).toContain(route.method);
      }
    });

    it('A10 takes no query parameter that it does not name, and says so only to callers that it knows', async () => {
      const { url, ...sent } = sentOf(route);
      const more = `${url}${url.includes('?') ? '&' : '?'}access_token=x`;
      for (const credential of CREDENTIALS.slice(0, 4)) {
        const plain = await ask(door, { ...sent, url }, credential);
        const refused = plain[0] === 401 || plain[1] === 'authz.asker' ? plain : [400, 'request.schema'];
        expect(await ask(door, { ...sent, url: more }, credential)).toEqual(refused);
      }
    });

    it('takes a body of its type, or none', async () => {
      const credential = CREDENTIALS.find((one) => opens(door, route, one)) ?? 'none';
      const { headers = {}, ...sent } = sentOf(route);
      if (bodyOf(route.input) === undefined) {
        expect(await ask(door, { ...sent, headers, body: '{}' }, credential)).toEqual([400, 'request.schema']);
        return;
      }
      const typed = { ...headers, 'content-type': 'text/plain' };
      expect(await ask(door, { ...sent, headers: typed }, credential)).toEqual([415, 'request.media_type']);
      expect(await ask(door, { ...sent, headers: { ...headers, 'content-encoding': 'gzip' } }, credential)).toEqual([
        415,
        'request.encoding',
      ]);
    });

    it('is at that path alone', async () => {
      const { url, ...sent } = sentOf(route);
      const [path = ''] = url.split('?');
      if (route.path.includes('{')) return;
      for (const other of [
        `${path}/`,
        `/${path}`,
        path.toUpperCase(),
        `${path};x=1`,
        path.replace('/', '/./'),
        path.replace(/[a-z]$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
      ]) {
        // The end of one path may be an id in another.
        const isOther = ROUTES[door].some((one) => one.path !== path && isOf(one.path, other));
        expect([other, ...(await ask(door, { ...sent, url: other }, 'an admin key'))]).toEqual([
          other,
          ...(isOther ? [405, 'request.method'] : [404, 'route.not_found']),
        ]);
      }
    });
  });

  it('the routes of the other listener do not exist', async () => {
    const own = new Set(ROUTES[door].map(({ path }) => path));
    const others = ROUTES[door === 'the API' ? 'the admin socket' : 'the API'].filter(({ path }) => !own.has(path));
    expect(others.length).toBeGreaterThan(3);
    for (const route of others) {
      for (const credential of ['none', 'a data key', 'an admin key'] as const) {
        expect(await ask(door, sentOf(route), credential)).toEqual([404, 'route.not_found']);
      }
    }
  });
});
