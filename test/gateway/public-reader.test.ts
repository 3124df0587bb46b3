// Whoever brings no credential is one identity that reads (docs/authentication.md "Without a credential"), if the settings
// say so. Whoever brings a bad one is still refused.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { rm } from 'node:fs/promises';
import { AuthenticationError } from '../../server/auth/authenticators.js';
import { type AuditTrail, openTrail } from '../../server/audit/trail.js';
import { type Database, openDatabase } from '../../server/db/database.js';
import { makeIdSource, systemClock } from '../../server/lib/ports.js';
import { readLines, SILENT } from '../support/audit-log.js';
import {
  call,
  callAdmin,
  openGateway,
  policyOf,
  type TestGateway,
  type TestGatewayOptions,
} from '../support/gateway.js';
import { ABSENT, HIDDEN, LENS, loadLensAndSecret } from '../support/loaded-records.js';
import { newDataDir, PATIENT } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const ANYONE = { provider: 'public', subject: 'anyone' };
const ADA = { provider: 'orcid', subject: 'ada' };
const POLICY = policyOf([
  // Writing, too: what the policy grants by mistake.
  [ANYONE, '/labs', ['resource:read', 'resource:write', 'namespace:read']],
  [ADA, '/vault', ['resource:read']],
]);
const AUTHENTICATION = {
  keys: { enabled: true },
  ...{ oidc: [], introspection: [], mtls: null, revocationsFile: null },
  anonymous: { identity: ANYONE },
};

let dataDir: string;
let db: Database;
let open: TestGateway;

const serve = (options: TestGatewayOptions = {}): Promise<TestGateway> =>
  openGateway({ db, mode: { kind: 'serve', policy: POLICY }, authentication: AUTHENTICATION, ...options });
const query = (namespace: string): { readonly body: unknown } => ({ body: { family: 'resource', namespace } });
const CHALLENGE = 'Bearer realm="bailiwick"';

beforeAll(async () => {
  dataDir = await newDataDir();
  db = await openDatabase({ kind: 'embedded', dataDir, ...PATIENT });
  await loadLensAndSecret(db);
  open = await serve();
});

afterAll(async () => {
  await open.dispose();
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

describe('whoever brings no credential', () => {
  it('is the identity of the settings, with scopes to read', async () => {
    const { status, json } = await call(open.port, { method: 'GET', path: '/api/v1/whoami' });
    expect([status, json]).toEqual([
      200,
      {
        id: 'public:anyone',
        kind: 'anonymous',
        identities: [ANYONE],
        credentialScopes: [
          'namespace:read',
          'process-run:read',
          'process-template:read',
          'resource-template:read',
          'resource:read',
        ],
        namespaceRestrictions: null,
        credentialFingerprint: null,
      },
    ]);
    const held = await call(open.port, { method: 'GET', path: '/api/v1/permissions?namespace=/labs' });
    expect(held.json?.['scopes']).toEqual([
      { scope: 'namespace:read', grants: ['g1'] },
      { scope: 'resource:read', grants: ['g1'] },
    ]);
  });

  it('reads what the policy grants to it, and nothing else', async () => {
    const page = await call(open.port, query('/labs/x'));
    expect([page.status, (page.json?.['items'] as readonly { id: string }[]).map(({ id }) => id)]).toEqual([
      200,
      [LENS],
    ]);
    expect((await call(open.port, { method: 'GET', path: `/api/v1/resources/${LENS}` })).status).toBe(200);
    const [hidden, absent] = [
      await call(open.port, { method: 'GET', path: `/api/v1/resources/${HIDDEN}` }),
      await call(open.port, { method: 'GET', path: `/api/v1/resources/${ABSENT}` }),
    ];
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    const denied = await call(open.port, query('/vault'));
    expect([denied.status, denied.json?.['step']]).toEqual([403, 'no_matching_grant']);
    // A client may sign in and try again.
    for (const { headers } of [hidden, absent, denied]) expect(headers['www-authenticate']).toBe(CHALLENGE);
  });

  test.each([
    ['POST', '/api/v1/resources', { namespace: '/labs/x', name: 'made' }],
    ['PATCH', `/api/v1/resources/${LENS}`, { name: 'changed' }],
    ['POST', `/api/v1/resources/${LENS}/archive`, {}],
    ['PUT', '/api/v1/namespaces/labs/y', {}],
    ['POST', '/api/v1/batch', { commands: [] }],
    ['POST', '/api/v1/decide', { items: [] }],
    ['POST', '/api/v1/who-can', { scope: 'resource:read', namespace: '/labs' }],
  ])('has to sign in for %s %s', async (method, path, body) => {
    const { status, json, headers } = await call(open.port, { method, path, body });
    expect([status, json?.['code'], headers['www-authenticate']]).toEqual([401, 'auth.required', CHALLENGE]);
  });

  it('has answers that are never those of somebody with a credential', async () => {
    const { text: key } = await open.key();
    for (const answer of [await call(open.port, query('/labs')), await call(open.port, { ...query('/vault'), key })]) {
      expect([answer.status, answer.headers['cache-control'], answer.headers['vary']]).toEqual([
        200,
        'no-store',
        'Authorization',
      ]);
    }
  });

  it('is told apart from everybody in the description of the API', async () => {
    const { json } = await call(open.port, { method: 'GET', path: '/openapi.json' });
    const paths = json?.['paths'] as Record<string, Record<string, { security: unknown }>>;
    const securityOf = (method: string, path: string): unknown => paths[path]?.[method]?.security;
    expect(securityOf('post', '/api/v1/query')).toEqual([{}, { credential: [] }]);
    expect(securityOf('get', '/api/v1/resources/{id}')).toEqual([{}, { credential: [] }]);
    expect(securityOf('get', '/api/v1/whoami')).toEqual([{}, { credential: [] }]);
    expect(securityOf('post', '/api/v1/resources')).toEqual([{ credential: [] }]);
    expect(securityOf('post', '/api/v1/decide')).toEqual([{ decideKey: [] }]);
  });
});

describe('whoever brings something', () => {
  test.each(['', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer x.y.z', 'Bearer bwk_abcdefghijklmnop_wrong'])(
    'as `Authorization: %s` is refused and never read as nobody',
    async (authorization) => {
      const { status, json, headers } = await call(open.port, { ...query('/labs'), headers: { authorization } });
      expect([status, json?.['code']]).toEqual([401, 'auth.invalid']);
      expect(headers['www-authenticate']).toBe(`${CHALLENGE}, error="invalid_token"`);
    },
  );

  it('an expired key is refused', async () => {
    const { text: key } = await open.key({ expires: 1 as never });
    expect((await call(open.port, { ...query('/labs'), key })).status).toBe(401);
  });

  it('sees what it may see itself, and not what is public', async () => {
    const { text: key } = await open.key();
    expect((await call(open.port, { ...query('/vault'), key })).status).toBe(200);
    const denied = await call(open.port, { ...query('/labs'), key });
    expect([denied.status, denied.headers['www-authenticate']]).toEqual([403, undefined]);
  });

  it('never has the public identity by a key', async () => {
    const { text: key } = await open.key({ actor: 'odd', identities: [ADA, ANYONE] });
    expect((await call(open.port, { ...query('/vault'), key })).status).toBe(401);
    expect(open.lines.at(-1)?.['reason']).toBe('a key with the identity of anonymous requests');
  });
});

describe('limits', () => {
  it('count each address by itself', async () => {
    const limited = await serve({ rate: { perActor: 2 }, trustProxy: ['127.0.0.1'] });
    const from = async (address: string): Promise<number> =>
      (await call(limited.port, { ...query('/labs'), headers: { 'x-forwarded-for': address } })).status;
    const many = await Promise.all(Array.from({ length: 20 }, () => from('192.0.2.1')));
    expect(new Set(many)).toEqual(new Set([200, 429]));
    expect([await from('192.0.2.2'), await from('2001:db8::1')]).toEqual([200, 200]);
    await limited.dispose();
  });
});

describe('the audit log', () => {
  it('has the identity and the address, and no credential', async () => {
    const folder = await makeFolder();
    const settings = { folder, queries: 'all', onFailure: 'refuse', lag: 10_000 } as const;
    const trail: AuditTrail = await openTrail({
      ...settings,
      ...{ db, clock: systemClock, nextId: makeIdSource(), log: SILENT },
    });
    const audited = await serve({ audit: trail });
    await call(audited.port, query('/labs'));
    await call(audited.port, query('/vault'));
    await audited.dispose();
    await trail.close();
    const events = readLines(folder).map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const own = events.filter(({ operation }) => operation === 'resource.query');
    expect(events.filter(({ kind }) => kind === 'authentication')).toEqual([]);
    expect(own).toMatchObject([
      { kind: 'query', outcome: 'allowed', address: '127.0.0.1', grants: ['g1'] },
      { kind: 'refusal', outcome: 'denied', step: 'no_matching_grant', address: '127.0.0.1' },
    ]);
    for (const { actor } of own) {
      expect(actor).toMatchObject({ id: 'public:anyone', kind: 'anonymous', fingerprint: null });
      expect(actor).toMatchObject({ identities: ['public:anyone'], namespaceRestrictions: null });
    }
  });
});

describe('at the start', () => {
  it('a policy that does not declare the provider is an error', async () => {
    const policy = policyOf([[ADA, '/vault', ['resource:read']]]);
    const error: unknown = await serve({ mode: { kind: 'serve', policy } }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AuthenticationError);
    expect((error as AuthenticationError).faults).toEqual([
      {
        setting: 'authentication.anonymous.identity',
        message: 'the policy `test` does not declare the provider `public`',
        fix: 'add `public: {}` to `providers` in policy.yaml, or name another provider',
      },
    ]);
  });

  it('a policy that shows nothing to the identity is warned of', async () => {
    const policy = policyOf([[{ ...ANYONE, subject: 'another' }, '/labs', ['resource:read']]]);
    const gateway = await serve({ mode: { kind: 'serve', policy } });
    expect(gateway.lines.map(({ message }) => message)).toContain(
      'no grant of the policy lets `public:anyone` read a namespace, template or resource now, so anonymous requests find nothing',
    );
    await gateway.dispose();
    expect(open.lines.filter(({ message }) => message.startsWith('no grant of'))).toEqual([]);
  });

  it('an admin cannot make a key with it', async () => {
    const gateway = await serve({ admin: true });
    const { status, json } = await callAdmin(gateway.admin?.socket ?? '', {
      method: 'POST',
      path: '/admin/v1/keys',
      body: { actor: 'odd', identities: ['public:anyone'] },
    });
    expect([status, json?.['errors']]).toEqual([
      400,
      [
        {
          pointer: '/identities/0',
          code: 'request.schema',
          message: 'is who reads without a credential (`authentication.anonymous`), so no key can have it',
        },
      ],
    ]);
    await gateway.dispose();
  });
});

test('nobody reads without a credential unless the settings say so', async () => {
  const closed = await openGateway({ db, mode: { kind: 'serve', policy: POLICY } });
  const { status, headers } = await call(closed.port, query('/labs'));
  expect([status, headers['vary']]).toEqual([401, undefined]);
  await closed.dispose();
});
