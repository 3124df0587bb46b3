// One gateway with every way to authenticate: certificates over TLS, tokens bound to them, opaque tokens, keys, and a
// list that revokes any of them.
import { instantOf } from '../../engine/index.js';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { revokeKey } from '../../server/auth/api-keys.js';
import { openTlsIdentity } from '../../server/http/tls-files.js';
import { type Issued, issue, makeAuthority } from '../support/certificates.js';
import { openGateway, policyOf, type TestGateway } from '../support/gateway.js';
import { makeFolder } from '../support/temp-folder.js';
import { type IssuerKey, makeIssuerKey, openIssuer, sign, type TokenIssuer } from '../support/token-issuer.js';
import { INTROSPECTION_SETTINGS, ISSUER_SETTINGS } from '../support/token-world.js';

const CANARY = 'canary-secret-of-the-introspection-client';
let folder: string;
let authority: Issued;
let alice: Issued;
let bob: Issued;
let signer: IssuerKey;
let issuer: TokenIssuer;
let open: TestGateway;

beforeAll(async () => {
  folder = await makeFolder({ secret: CANARY, 'revoked.txt': '' });
  authority = await makeAuthority(folder);
  const server = await issue(folder, 'server', { authority });
  alice = await issue(folder, 'alice', { authority, usage: 'clientAuth', names: 'URI:spiffe://example.org/alice' });
  bob = await issue(folder, 'bob', { authority, usage: 'clientAuth', names: 'URI:spiffe://example.org/bob' });
  signer = await makeIssuerKey('k1');
  issuer = await openIssuer([signer.jwk]);
  const introspection = await openIssuer();
  introspection.answerWith((request, response) => {
    let form = '';
    request.on('data', (chunk: Buffer) => (form += chunk.toString()));
    request.on('end', () => {
      const active = new URLSearchParams(form).get('token')?.endsWith('opaque-token') === true;
      response.end(JSON.stringify({ active, sub: 'opaque-user', scope: 'resource:read' }));
    });
  });
  open = await openGateway({
    tls: await openTlsIdentity({ ...server, clientCaFile: authority.certFile }),
    mode: {
      kind: 'serve',
      policy: policyOf([
        [{ provider: 'ca', subject: 'spiffe://example.org/alice' }, '/labs', ['resource:read', 'resource:write']],
        [{ provider: 'idp', subject: 'alice' }, '/labs', ['resource:read']],
        [{ provider: 'opaque', subject: 'opaque-user' }, '/', ['resource:read', 'namespace:read']],
        [{ provider: 'orcid', subject: 'ada' }, '/', ['resource:read', 'namespace:read']],
      ]),
    },
    authentication: {
      keys: { enabled: true },
      oidc: [{ ...ISSUER_SETTINGS, issuer: issuer.url, provider: 'idp' }],
      introspection: [
        {
          ...INTROSPECTION_SETTINGS,
          url: introspection.url,
          clientId: 'gateway',
          clientSecretFile: join(folder, 'secret'),
          provider: 'opaque',
          cacheTime: 60_000,
        },
      ],
      mtls: { provider: 'ca', subjectFrom: 'san:uri' },
      revocationsFile: join(folder, 'revoked.txt'),
    },
  });
  stopIntrospection = introspection.stop;
});

let stopIntrospection: () => Promise<void>;

afterAll(async () => {
  await open.dispose();
  await Promise.all([issuer.stop(), stopIntrospection()]);
});

beforeEach(async () => {
  writeFileSync(join(folder, 'revoked.txt'), `# ${String(performance.now())}\n`);
  await open.gateway.revocations?.pollNow();
});

interface Asked {
  readonly bearer?: string;
  readonly certificate?: Issued;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

function ask({ bearer, certificate, headers = {}, path = '/api/v1/whoami' }: Asked): Promise<Answer> {
  const own =
    certificate === undefined
      ? {}
      : { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) };
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      {
        port: open.port,
        host: '127.0.0.1',
        path,
        agent: false,
        ca: readFileSync(authority.certFile),
        headers: { ...headers, ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }) },
        ...own,
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) as Answer['json'] });
        });
      },
    );
    request.on('error', reject);
    request.end();
  });
}

async function token(more: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return sign(signer, { iss: issuer.url, sub: 'alice', aud: 'bailiwick', iat: now, exp: now + 600, jti: 'j', ...more });
}

function thumbprint({ certFile }: Issued): string {
  return createHash('sha256')
    .update(new X509Certificate(readFileSync(certFile)).raw)
    .digest('base64url');
}

describe('a client certificate', () => {
  it('is an actor where there is no token', async () => {
    expect(await ask({ certificate: alice })).toMatchObject({
      status: 200,
      json: { id: 'ca:spiffe://example.org/alice', kind: 'certificate' },
    });
    expect(await ask({})).toMatchObject({ status: 401, json: { code: 'auth.required' } });
  });

  it('C04 beside a token leaves the token as the credential, and a wrong token is wrong', async () => {
    expect((await ask({ certificate: bob, bearer: await token() })).json).toMatchObject({
      id: 'idp:alice',
      kind: 'token',
    });
    expect((await ask({ certificate: alice, bearer: 'a.b.c' })).status).toBe(401);
    expect((await ask({ certificate: alice, headers: { authorization: 'Basic eDp5' } })).status).toBe(401);
  });

  test.each([
    'X-User',
    'X-Actor',
    'Remote-User',
    'X-Client-Cert',
    'X-Forwarded-User',
    'X-Forwarded-Client-Cert',
    'X-Api-Key',
  ])('C26 is not what the header %s says', async (name) => {
    const value = 'By=x;URI=spiffe://example.org/alice';
    expect(await ask({ headers: { [name]: value } })).toMatchObject({ status: 401 });
    expect((await ask({ certificate: bob, headers: { [name]: value } })).json['id']).toBe(
      'ca:spiffe://example.org/bob',
    );
  });
});

test('a token that is bound to a certificate counts with that certificate alone, also when it is known', async () => {
  const bound = await token({ cnf: { 'x5t#S256': thumbprint(alice) } });
  for (let turn = 0; turn < 2; turn += 1) {
    expect((await ask({ bearer: bound, certificate: alice })).json).toMatchObject({ id: 'idp:alice' });
    expect((await ask({ bearer: bound, certificate: bob })).status).toBe(401);
    expect((await ask({ bearer: bound })).status).toBe(401);
  }
});

test('C28 a fingerprint on the list ends a credential of any kind at once, and off the list it counts again', async () => {
  const key = (await open.key()).text;
  const credentials: readonly Asked[] = [
    { bearer: key },
    { bearer: await token() },
    { bearer: 'opaque-token' },
    { certificate: alice },
  ];
  const prints = await Promise.all(
    credentials.map(async (one) => String((await ask(one)).json['credentialFingerprint'])),
  );
  expect(new Set(prints).size).toBe(4);
  for (const [index, print] of prints.entries()) {
    writeFileSync(join(folder, 'revoked.txt'), `${print} # lost\n`);
    await open.gateway.revocations?.pollNow();
    expect(await Promise.all(credentials.map(async (one) => (await ask(one)).status))).toEqual(
      credentials.map((_, other) => (other === index ? 401 : 200)),
    );
    expect(open.lines).toContainEqual(
      expect.objectContaining({ reason: 'its fingerprint is in the file of revocations' }),
    );
  }
  writeFileSync(join(folder, 'revoked.txt'), '\n');
  await open.gateway.revocations?.pollNow();
  expect(await Promise.all(credentials.map(async (one) => (await ask(one)).status))).toEqual([200, 200, 200, 200]);
});

test('C02 every method gives the same bytes for every reason', async () => {
  const revoked = await open.key();
  await revokeKey(open.db, { id: revoked.id, now: instantOf(Date.now()) });
  const [good = '', payload = '', signature = ''] = (await token()).split('.');
  const bearers = [
    'x',
    'a.b.c',
    'a.b.c.d',
    `${good}.${payload}.${signature}=`,
    await token({ aud: 'x' }),
    revoked.text,
  ];
  const answers = await Promise.all(bearers.map((bearer) => ask({ bearer })));
  const { requestId: _id, ...rest } = answers[0]?.json ?? {};
  for (const { status, json } of answers) {
    expect(status).toBe(401);
    expect(json).toEqual({ ...rest, requestId: expect.any(String) });
  }
});

describe('permissions', () => {
  const permissions = (asked: Asked, query: string): Promise<Answer> =>
    ask({ ...asked, path: `/api/v1/permissions?namespace=${query}` });

  it('are the scopes that the actor holds there, with the grants', async () => {
    const snapshot = open.gateway.policies.current().policy.digest;
    expect(await permissions({ certificate: alice }, '/labs/optics')).toEqual({
      status: 200,
      json: {
        namespace: '/labs/optics',
        snapshot,
        scopes: [
          { scope: 'resource:read', grants: ['g1'] },
          { scope: 'resource:write', grants: ['g1'] },
        ],
      },
    });
    expect((await permissions({ certificate: bob }, '/labs')).json).toMatchObject({ namespace: '/labs', scopes: [] });
  });

  it('are about one scope if one is named, which the policy must know', async () => {
    expect((await permissions({ certificate: alice }, '/labs/optics&scope=resource:write')).json).toMatchObject({
      scopes: [{ scope: 'resource:write', grants: ['g1'] }],
    });
    expect((await permissions({ certificate: alice }, '/labs/optics&scope=namespace:write')).json).toMatchObject({
      scopes: [],
    });
    expect(await permissions({ certificate: alice }, '/labs/optics&scope=resource:wirte')).toMatchObject({
      status: 400,
      json: {
        code: 'request.schema',
        errors: [{ message: 'the query parameter scope is not a scope of the policy; did you mean resource:write?' }],
      },
    });
  });

  it('D08 are no more than the credential carries, whatever the grants say', async () => {
    expect((await permissions({ bearer: 'opaque-token' }, '/')).json).toMatchObject({
      scopes: [{ scope: 'resource:read', grants: ['g3'] }],
    });
    const none = await open.key({ restrictions: [] });
    expect((await permissions({ bearer: none.text }, '/')).json).toMatchObject({ scopes: [] });
  });

  test.each(['%2Flabs%2F', 'labs', '/labs/'])('take %s for /labs', async (query) => {
    expect((await permissions({ certificate: alice }, query)).json).toMatchObject({ namespace: '/labs' });
  });

  test.each(['', '/Labs', '/labs%20', '/labs%00', '/labs.*/..', '*', '/labs//x', '/zoe%CC%88'])(
    'D10 refuse %j, which is no namespace',
    async (query) => {
      expect(await permissions({ certificate: alice }, query)).toMatchObject({
        status: 400,
        json: { code: 'namespace.invalid' },
      });
    },
  );

  test.each(['', '?', '?namespace=/a&namespace=/a', '?namespace=/a&at=now', '?Namespace=/a'])(
    'C05 take nothing but one namespace: %j',
    async (query) => {
      const answer = await ask({ certificate: alice, path: `/api/v1/permissions${query}` });
      expect(answer).toMatchObject({ status: 400, json: { code: 'request.schema' } });
    },
  );
});

test('no secret and no token is in the log', async () => {
  const bearer = await token({ jti: 'canary' });
  await ask({ bearer });
  await ask({ bearer: 'canary-opaque-token' });
  await ask({ path: '/api/v1/whoami?access_token=canary-in-the-query' });
  const written = JSON.stringify(open.lines);
  for (const secret of [CANARY, bearer, 'canary-opaque-token', 'canary-in-the-query']) {
    expect(written).not.toContain(secret);
  }
});
