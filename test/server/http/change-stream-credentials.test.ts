// Who follows the feed with a token, or without any credential: the stream ends when that does, and says so.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, openGateway, policyOf, type TestGateway } from '../../support/gateway.js';
import { type EventStreamClient, openStream } from '../../support/event-stream.js';
import { makeIssuerKey, openIssuer, sign, type IssuerKey, type TokenIssuer } from '../../support/token-issuer.js';
import { ISSUER_SETTINGS } from '../../support/token-world.js';

const ADA = { provider: 'orcid', subject: 'ada' };
const ANYONE = { provider: 'public', subject: 'anyone' };
const WES = { provider: 'orcid', subject: 'wes' };
const WRITES = [WES, '/', ['resource:write', 'namespace:write', 'resource:read']] as const;
const POLICY = policyOf([[ADA, '/a', ['resource:read']], [ANYONE, '/open', ['resource:read']], WRITES]);
const CLOSED = policyOf([[ADA, '/a', ['resource:read']], WRITES]);
const TOLERANCE = 1_000;

describe('a stream of changes', () => {
  let issuer: TokenIssuer;
  let issuerKey: IssuerKey;
  let open: TestGateway;
  let wes: string;
  beforeAll(async () => {
    issuerKey = await makeIssuerKey('k1');
    issuer = await openIssuer([issuerKey.jwk]);
    const settings = { ...ISSUER_SETTINGS, issuer: issuer.url, provider: 'orcid', clockTolerance: TOLERANCE };
    open = await openGateway({
      mode: { kind: 'serve', policy: POLICY },
      authentication: {
        ...{ keys: { enabled: true }, introspection: [], mtls: null, revocationsFile: null },
        oidc: [settings],
        anonymous: { identity: ANYONE },
      },
    });
    wes = (await open.key({ actor: 'wes', identities: [WES] })).text;
    for (const path of ['/a', '/open'])
      await call(open.port, { method: 'PUT', path: `/api/v1/namespaces${path}`, key: wes, body: {} });
  });
  afterAll(async () => {
    await open.dispose();
    await issuer.stop();
  });

  let keys = 0;
  const write = async (namespace: string): Promise<string> => {
    keys += 1;
    const { json } = await call(open.port, {
      path: '/api/v1/resources',
      key: wes,
      headers: { 'idempotency-key': `k${String(keys)}` },
      body: { namespace, name: 'n' },
    });
    return String(json?.['id']);
  };
  const tokenFor = (seconds: number): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    return sign(issuerKey, {
      ...{ iss: issuer.url, aud: 'bailiwick', sub: 'ada', jti: `t${String(now)}`, iat: now, exp: now + seconds },
    });
  };
  const problemOf = (stream: EventStreamClient): unknown =>
    stream.events().find(({ event }) => event === 'problem')?.data;

  it('ends when its token expires, within a look, after everything that happened until then', async () => {
    const token = await tokenFor(4);
    const expires = (Math.floor(Date.now() / 1_000) + 4) * 1_000 + TOLERANCE;
    const stream = await openStream(open.port, { key: token });
    expect(stream.status).toBe(200);
    const id = await write('/a');
    await stream.until((events) => events.length === 1);
    expect(stream.events()).toMatchObject([{ data: { change: 'created', id } }]);
    const last = stream.lastId();
    await stream.ended;
    const late = Date.now() - expires;
    expect(late).toBeGreaterThan(-TOLERANCE);
    expect(late).toBeLessThan(4_000);
    expect(problemOf(stream)).toMatchObject({ status: 401, code: 'auth.invalid' });
    // It ends with that, and what happens later is in the feed for whoever comes back with another token.
    expect(stream.events().at(-1)?.event).toBe('problem');
    const later = await write('/a');
    const refused = await openStream(open.port, { key: token, headers: { 'last-event-id': last } });
    await refused.ended;
    expect(refused.status).toBe(401);
    const again = await openStream(open.port, { key: await tokenFor(60), headers: { 'last-event-id': last } });
    await again.until((events) => events.length === 1);
    expect(again.events()).toMatchObject([{ data: { id: later } }]);
    again.close();
  });

  it('is for whoever brings no credential, too, as far as the public reader sees', async () => {
    const stream = await openStream(open.port, {});
    expect(stream.status).toBe(200);
    await write('/a');
    const id = await write('/open');
    await stream.until((events) => events.length === 1);
    expect(stream.events()).toMatchObject([{ data: { change: 'created', namespace: '/open', id } }]);
    const last = stream.lastId();
    stream.close();
    // Everybody without a credential is one actor, so the cursor of one is good for another.
    const missed = await write('/open');
    const page = await call(open.port, { method: 'GET', path: `/api/v1/changes?after=${last}` });
    expect((page.json?.['items'] as { readonly id: string }[]).map((item) => item.id)).toEqual([missed]);
    const ada = await call(open.port, {
      ...{ method: 'GET', path: `/api/v1/changes?after=${last}`, key: await tokenFor(60) },
    });
    expect([ada.status, ada.json?.['code']]).toEqual([400, 'query.cursor']);
  });

  it('tells the public reader what a policy takes from it, and ends', async () => {
    const stream = await openStream(open.port, {});
    await write('/open');
    await stream.until((events) => events.length === 1);
    open.gateway.policies.activate({ policy: CLOSED }, 'test');
    await stream.ended;
    expect(stream.events().at(-1)).toMatchObject({
      data: { change: 'rights', gained: [], lost: [{ namespace: '/open', scopes: ['resource:read'] }] },
    });
    const denied = await openStream(open.port, {});
    await denied.ended;
    expect([denied.status, JSON.parse(denied.text())]).toMatchObject([403, { step: 'no_matching_grant' }]);
    open.gateway.policies.activate({ policy: POLICY }, 'test');
  });
});
