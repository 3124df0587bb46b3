// A gateway that accepts the tokens of a real OpenID provider, through its rotation, outage and restart, as its users
// experience it.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { compilePolicy, readPolicy } from '../../engine/compiler.js';
import { instantOf, loadSnapshot } from '../../engine/index.js';
import type { IssuerSettings } from '../../server/auth/oidc-authenticator.js';
import { AuthenticationError, type GatewayMode } from '../../server/compose.js';
import { call, openGateway, policyOf, type Reply, type TestGateway } from '../support/gateway.js';
import { API, CLIENT, type OpenidProvider, openProvider, OTHER_API } from '../support/openid-provider.js';

const MINUTE = 60_000;
const NOTHING_ELSE = { keys: { enabled: true }, oidc: [], introspection: [], mtls: null, revocationsFile: null };
let provider: OpenidProvider;
let open: TestGateway;
let keys: readonly [JWK, JWK];
let settings: IssuerSettings;
let mode: GatewayMode;
let claims: Readonly<Record<string, unknown>> = {};
/** How far the gateway's clock is ahead. */
let ahead = 0;
const clock = { now: () => instantOf(Date.now() + ahead) };

async function makeKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' };
}

beforeAll(async () => {
  keys = [await makeKey('first'), await makeKey('second')];
  provider = await openProvider([keys[0]], () => claims);
  settings = {
    issuer: provider.url,
    audience: [API],
    provider: 'idp',
    algorithms: ['ES256'],
    jwksUrl: null,
    clients: null,
    tokenType: 'access',
    clockTolerance: 30_000,
    maxTokenAge: 24 * 60 * MINUTE,
    scopeClaim: 'scope',
    groupsClaim: 'groups',
    groupsSeparator: null,
    restrictionsClaim: null,
  };
  const policy = policyOf([
    [{ provider: 'idp', subject: CLIENT.id }, '/labs', ['resource:read']],
    [{ provider: 'idp-group', subject: 'staff' }, '/', ['namespace:read']],
  ]);
  mode = { kind: 'serve', policy };
  open = await openGateway({ mode, authentication: { ...NOTHING_ELSE, oidc: [settings] }, clock });
});

afterAll(async () => {
  await Promise.all([open.dispose(), provider.stop()]);
});

function whoami(token: string): Promise<Reply> {
  return call(open.port, { method: 'GET', path: '/api/v1/whoami', key: token });
}

function query(token: string, body: object): Promise<Reply> {
  return call(open.port, { key: token, body });
}

test('a token of the provider is an actor, whom the policy decides about', async () => {
  claims = { groups: ['staff'] };
  const token = await provider.token({ scope: 'resource:read namespace:read read:org' });
  expect((await whoami(token)).json).toEqual({
    id: `idp:${CLIENT.id}`,
    kind: 'token',
    identities: [
      { provider: 'idp', subject: CLIENT.id },
      { provider: 'idp-group', subject: 'staff' },
    ],
    credentialScopes: ['namespace:read', 'resource:read'],
    namespaceRestrictions: null,
    credentialFingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const asked = { namespace: '/labs' };
  expect((await query(token, { family: 'resource', ...asked })).status).not.toBe(403);
  expect((await query(token, { family: 'namespace', ...asked })).status).not.toBe(403);
  expect(await query(token, { family: 'process-run', ...asked })).toMatchObject({ status: 403 });
  claims = {};
  const alone = await provider.token({ scope: 'resource:read' });
  expect((await query(alone, { family: 'namespace', ...asked })).json).toMatchObject({ step: 'no_matching_grant' });
  expect((await query(await provider.token(), { family: 'resource', ...asked })).json).toMatchObject({
    step: 'credential_scope',
  });
});

test('a token with groups that `exclusive` keeps apart may do nothing', async () => {
  const files = {
    'policy.yaml':
      'bailiwick: 1\nname: p\nproviders: { idp: {} }\nexclusive:\n  - [idp-group:buyers, idp-group:payers]\n',
    'p.yaml':
      'grants:\n' +
      '  - { id: buy, identity: idp-group:buyers, namespace: /labs, scopes: [resource:read] }\n' +
      '  - { id: pay, identity: idp-group:payers, namespace: /labs, scopes: [namespace:read] }\n',
  };
  const { policy: set } = readPolicy(
    Object.entries(files).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) })),
  );
  const compiled = set === null ? null : compilePolicy(set);
  const loaded = compiled?.ok === true ? loadSnapshot(compiled.snapshot.bytes) : null;
  if (loaded?.ok !== true) throw new Error('the policy does not compile');
  open.gateway.policies.activate({ policy: loaded.policy }, 'with exclusive groups');
  const ask = async (groups: readonly string[], family: string): Promise<Reply> => {
    claims = { groups };
    return query(await provider.token({ scope: 'resource:read namespace:read' }), { family, namespace: '/labs' });
  };
  expect((await ask(['buyers'], 'resource')).status).not.toBe(403);
  expect((await ask(['payers'], 'namespace')).status).not.toBe(403);
  for (const family of ['resource', 'namespace'])
    expect(await ask(['buyers', 'payers'], family)).toMatchObject({ status: 403, json: { step: 'exclusive' } });
  if (mode.kind === 'serve') open.gateway.policies.activate({ policy: mode.policy }, 'as before');
});

test('a token for another API, and one that is opaque, are nobody', async () => {
  for (const resource of [OTHER_API, null]) {
    expect(await whoami(await provider.token({ resource }))).toMatchObject({ status: 401 });
  }
});

test('the log names who asked, and never the token', async () => {
  const token = await provider.token({ scope: 'resource:read' });
  await whoami(token);
  expect(open.lines.at(-1)).toMatchObject({ actor: `idp:${CLIENT.id}`, status: 200 });
  const written = JSON.stringify(open.lines);
  for (const secret of [token, ...token.split('.').slice(1), CLIENT.secret]) expect(written).not.toContain(secret);
});

test('rotation, an outage and a restart', async () => {
  const old = await provider.token({ scope: 'resource:read' });
  expect((await whoami(old)).status).toBe(200);
  // Both keys are published for a while, and the new one signs.
  await provider.stop();
  expect((await whoami(old)).status).toBe(200);
  await provider.start([keys[1], keys[0]]);
  ahead = 10_001;
  const renewed = await provider.token({ scope: 'resource:read' });
  expect(await Promise.all([whoami(renewed), whoami(old)])).toMatchObject([{ status: 200 }, { status: 200 }]);
  // The first key is withdrawn.
  await provider.stop();
  await provider.start([keys[1]]);
  ahead += 5 * MINUTE;
  expect(await Promise.all([whoami(old), whoami(renewed)])).toMatchObject([{ status: 401 }, { status: 200 }]);
  expect(open.lines.filter(({ status }) => status === 401).at(-1)).toMatchObject({
    reason: 'signed with a key that the issuer does not publish',
  });
  // The provider is gone for longer than its keys are fresh.
  await provider.stop();
  ahead += 6 * MINUTE;
  expect((await whoami(renewed)).status).toBe(200);
  ahead += 61 * MINUTE;
  expect((await whoami(renewed)).status).toBe(401);
  await provider.start([keys[1]]);
  ahead = 0;
  expect((await whoami(await provider.token())).status).toBe(200);
});

test('a gateway whose provider is out of reach starts, and takes its tokens once it is there', async () => {
  const token = await provider.token();
  await provider.stop();
  ahead = 0;
  const second = await openGateway({
    mode,
    db: open.db,
    authentication: { ...NOTHING_ELSE, keys: { enabled: false }, oidc: [settings] },
    clock,
  });
  const ask = (): Promise<Reply> => call(second.port, { method: 'GET', path: '/api/v1/whoami', key: token });
  expect((await ask()).status).toBe(503);
  expect(second.lines[0]).toMatchObject({ level: 'warn', message: 'the keys of an issuer could not be fetched' });
  await provider.start([keys[1]]);
  ahead = 10_001;
  expect((await ask()).status).toBe(200);
  expect(
    (await call(second.port, { method: 'GET', path: '/api/v1/whoami', key: (await open.key()).text })).status,
  ).toBe(401);
  await second.dispose();
});

test('tokens that name new keys count against their address, although they may be valid in a moment', async () => {
  const authentication = { ...NOTHING_ELSE, oidc: [settings] };
  const strict = await openGateway({ mode, db: open.db, authentication, clock, rate: { unauthenticated: 2 } });
  const [, ...rest] = (await provider.token()).split('.');
  const forged = [Buffer.from('{"alg":"ES256","kid":"new","typ":"at+jwt"}').toString('base64url'), ...rest].join('.');
  const ask = (): Promise<Reply> => call(strict.port, { method: 'GET', path: '/api/v1/whoami', key: forged });
  const told = await Promise.all(Array.from({ length: 20 }, ask));
  const late = told.filter(({ status }) => status === 503);
  expect(late[0]?.headers['retry-after']).toMatch(/^(?:[1-9]|10)$/);
  expect(late.length).toBeLessThan(10);
  expect(told.filter(({ status }) => status === 429)).toHaveLength(20 - late.length);
  await strict.dispose();
});

test('settings that the provider contradicts, and a provider that the policy does not declare, refuse to start', async () => {
  const oidc = [{ ...settings, issuer: provider.url.replace('127.0.0.1', 'localhost'), provider: 'nobody' }];
  const started = openGateway({ mode, db: open.db, authentication: { ...NOTHING_ELSE, oidc }, clock });
  const error: unknown = await started.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(AuthenticationError);
  expect((error as AuthenticationError).faults).toMatchObject([
    { setting: 'authentication.oidc.0.provider', message: 'the policy `test` does not declare the provider `nobody`' },
    { setting: 'authentication.oidc.0.issuer', message: expect.stringMatching(/of another issuer/) },
  ]);
});

test('a policy that no longer declares the provider is reported in the log', async () => {
  const { policies } = open.gateway;
  policies.activate({ policy: policyOf([]) }, 'without the provider');
  expect(open.lines.at(-1)).toMatchObject({ level: 'warn', setting: 'authentication.oidc.0.provider' });
  expect(
    (await query(await provider.token({ scope: 'resource:read' }), { family: 'resource', namespace: '/labs' })).json,
  ).toMatchObject({ step: 'no_matching_grant' });
});
