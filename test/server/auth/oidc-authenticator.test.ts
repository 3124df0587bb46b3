// Signed tokens as an operator and an attacker meet them: why each is refused, what names a token in the log, who may use
// it, and what is said about its issuer.
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { hash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { instantOf } from '../../../engine/index.js';
import type { Authenticator, Evidence } from '../../../server/auth/authenticator.js';
import { certificateThumbprint } from '../../../server/auth/certificate-thumbprint.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import { type IssuerSettings, makeOidcAuthenticator } from '../../../server/auth/oidc-authenticator.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { makeAuthority } from '../../support/certificates.js';
import { credentialOf } from '../../support/credential-of.js';
import { judged } from '../../support/refused-credential.js';
import { makeFolder } from '../../support/temp-folder.js';
import { type IssuerKey, makeIssuerKey, openIssuer, sign, type TokenIssuer } from '../../support/token-issuer.js';
import { ISSUER_SETTINGS, NOW } from '../../support/token-world.js';

type Claims = Readonly<Record<string, unknown>>;

const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
let issuer: TokenIssuer;
let key: IssuerKey;
let other: IssuerKey;
let certificate: X509Certificate;
let now = instantOf(NOW * 1000);

beforeAll(async () => {
  [key, other] = await Promise.all([makeIssuerKey('k1'), makeIssuerKey('k2')]);
  issuer = await openIssuer();
  certificate = new X509Certificate(readFileSync((await makeAuthority(await makeFolder())).certFile));
});

afterAll(() => issuer.stop());

beforeEach(() => {
  now = instantOf(NOW * 1000);
  issuer.answerWith(null);
  issuer.publish([key.jwk]);
});

function open(more: Partial<IssuerSettings> = {}): Authenticator<RequestActor> {
  const settings: IssuerSettings = {
    ...ISSUER_SETTINGS,
    issuer: issuer.url,
    jwksUrl: `${issuer.url}/jwks`,
    provider: 'orcid',
    ...more,
  };
  const theirs: IssuerSettings = { ...settings, issuer: 'https://id.example.org', provider: 'github' };
  return makeOidcAuthenticator([settings, theirs], { fingerprint, clock: { now: () => now }, log: silent });
}

function token(claims: Claims = {}, header: Claims = {}, by: IssuerKey = key): Promise<string> {
  const times = { iat: NOW, exp: NOW + 300 };
  const all: Claims = { iss: issuer.url, sub: 'alice', aud: 'bailiwick', jti: 't1', ...times, ...claims };
  return sign(by, all, header);
}

const evidenceOf = (bearer: string | null, more: Partial<Evidence> = {}): Evidence => ({
  bearer,
  certificate: null,
  address: '192.0.2.1',
  ...more,
});

function enter(
  authenticator: Authenticator<RequestActor>,
  bearer: string,
  more: Partial<Evidence> = {},
): Promise<RequestActor> {
  return credentialOf(authenticator, evidenceOf(bearer, more)).authenticate(now);
}

async function refusalOf(
  claims: Claims,
  settings: Partial<IssuerSettings> = {},
  header: Claims = {},
): Promise<unknown> {
  return judged(enter(open(settings), await token(claims, header)));
}

describe('what the operator is told of a token', () => {
  const NOT_ACCESS = ['misdirected', 'not an access token: its type is not accepted'];
  const OTHER_USE = ['misdirected', 'an ID token, a refresh token or a logout token'];
  const OTHER_CLIENT = ['misdirected', 'issued to another client'];
  const OTHER_AUDIENCE = ['misdirected', 'for another audience'];
  const MORE_AUDIENCES = ['misdirected', 'for other audiences as well, and `clients` does not say who may use it'];
  const JWT = { typ: 'JWT' };
  const APP = { clients: ['other', 'app'] };

  test.each<[string, Claims, Partial<IssuerSettings>, Claims, unknown]>([
    ['of nobody that is known', { iss: 'https://evil.example.org' }, {}, {}, ['unknown', 'unknown issuer']],
    ['of no issuer', { iss: undefined }, {}, {}, ['unknown', 'unknown issuer']],
    ['of an algorithm', {}, { algorithms: ['RS256'] }, {}, ['unusable', 'an algorithm that is not allowed']],
    ['of one of the algorithms', {}, { algorithms: ['RS256', 'ES256'] }, {}, 'accepted'],
    ['of an unknown key', {}, {}, { kid: 'k2' }, ['unknown', 'signed with a key that the issuer does not publish']],
    ['that begins later', { nbf: NOW + 31 }, {}, {}, ['expired', 'not valid yet']],
    ['that begins now, with the tolerance', { nbf: NOW + 30 }, {}, {}, 'accepted'],
    ['that has ended, with the tolerance', { iat: NOW - 90, exp: NOW - 30 }, {}, {}, ['expired', 'expired']],
    ['that ends now, with the tolerance', { iat: NOW - 90, exp: NOW - 29 }, {}, {}, 'accepted'],
    ['for others', { aud: 'others' }, {}, {}, OTHER_AUDIENCE],
    ['for others of which one is a client', { aud: ['others'], azp: 'app' }, APP, {}, OTHER_AUDIENCE],
    ['for others, too', { aud: ['bailiwick', 'others'] }, {}, {}, MORE_AUDIENCES],
    ['for others, too, of a client', { aud: ['bailiwick', 'others'], azp: 'app' }, APP, {}, 'accepted'],
    ['for two of our names', { aud: ['b', 'a'] }, { audience: ['a', 'b'] }, {}, 'accepted'],
    ['of another client', { azp: 'evil', client_id: 'app' }, APP, {}, OTHER_CLIENT],
    ['of no client', {}, APP, {}, OTHER_CLIENT],
    ['of a client by its other claim', { client_id: 'app' }, APP, {}, 'accepted'],
    ['of any client', { azp: 'any' }, {}, {}, 'accepted'],
    ['without a type', {}, {}, { typ: undefined }, 'accepted'],
    ['of the general type', {}, {}, JWT, 'accepted'],
    ['of the general type where only access counts', {}, { tokenType: 'access' }, JWT, NOT_ACCESS],
    ['without a type where only access counts', {}, { tokenType: 'access' }, { typ: undefined }, NOT_ACCESS],
    ['for access where only that counts', {}, { tokenType: 'access' }, {}, 'accepted'],
    ['of a type for logouts', {}, {}, { typ: 'logout+jwt' }, NOT_ACCESS],
    ['for access with a nonce', { nonce: 'x' }, {}, {}, 'accepted'],
    ...['nonce', 'at_hash', 'c_hash', 's_hash', 'events'].map(
      (name): [string, Claims, Partial<IssuerSettings>, Claims, unknown] => [
        `with ${name}`,
        { [name]: {} },
        {},
        JWT,
        OTHER_USE,
      ],
    ),
    ['that says it is to refresh', { typ: 'Refresh' }, {}, JWT, OTHER_USE],
    ['that says it is an ID', { typ: 'ID' }, {}, { typ: undefined }, OTHER_USE],
    ['that says it is a bearer token', { typ: 'Bearer' }, {}, JWT, 'accepted'],
  ])('%s', async (_, claims, settings, header, expected) => {
    expect(await refusalOf(claims, settings, header)).toEqual(expected);
  });

  it('is that its issuer is no text, whatever that reads like', async () => {
    for (const iss of [[issuer.url], { toString: issuer.url }])
      expect(await refusalOf({ iss })).toEqual(['unknown', 'unknown issuer']);
  });

  it('is that somebody else signed it', async () => {
    const bearer = await token({}, { kid: 'k1' }, other);
    expect(await judged(enter(open(), bearer))).toEqual(['wrong', 'wrong signature']);
  });

  it('is that nobody can judge it while the keys cannot be fetched', async () => {
    issuer.answerWith((_, response) => void response.writeHead(503).end());
    const authenticator = open();
    expect(await judged(enter(authenticator, await token()))).toEqual([
      'auth.unavailable',
      'signed with a key that the issuer does not publish, whose keys cannot be fetched: it answers with status 503',
    ]);
  });
});

describe('a key that is new while the issuer may not be asked again', () => {
  const PUBLISHED = ['unknown', 'signed with a key that the issuer does not publish'];
  const YET = ['auth.unavailable', 'signed with a key that the issuer did not publish a moment ago'];

  it('makes nobody invalid: its clients are told when to come back, and are then accepted', async () => {
    const authenticator = open();
    const bogus = await token({}, { kid: 'k9' });
    const renewed = await token({}, { kid: 'k2' }, other);
    expect(await judged(enter(authenticator, bogus))).toEqual(PUBLISHED);
    issuer.publish([key.jwk, other.jwk]);
    now = instantOf(now + 6_500);
    expect(await judged(enter(authenticator, renewed))).toEqual(YET);
    await expect(enter(authenticator, renewed)).rejects.toMatchObject({
      status: 503,
      // It counts against the address as every other refusal.
      detail: { fault: 'unknown', retryAfter: 4 },
    });
    // The issuer was asked for this one.
    expect(await judged(enter(authenticator, bogus))).toEqual(PUBLISHED);
    now = instantOf(now + 3_500);
    expect(await judged(enter(authenticator, renewed))).toBe('accepted');
    expect(await judged(enter(authenticator, bogus))).toEqual(YET);
  });

  it('may be newer than the keys that are on their way', async () => {
    const authenticator = open();
    const joined = await token({}, { kid: 'k2' }, other);
    const bogus = enter(authenticator, await token({}, { kid: 'k9' }));
    expect(await Promise.all([judged(bogus), judged(enter(authenticator, joined))])).toEqual([PUBLISHED, YET]);
  });

  it('is not one that was withdrawn', async () => {
    const authenticator = open();
    await enter(authenticator, await token());
    issuer.publish([other.jwk]);
    now = instantOf(now + 10_000);
    expect(await judged(enter(authenticator, await token({}, { kid: 'k2' }, other)))).toBe('accepted');
    expect(await judged(enter(authenticator, await token()))).toEqual(PUBLISHED);
  });
});

describe('which evidence it judges', () => {
  it('is what has the form of a signed token', async () => {
    const { credentialOf: judge, name, close } = open();
    expect(name).toBe('oidc');
    for (const bearer of [null, '', 'opaque', 'a.b', 'a.b.c.d', 'bwk_a.b.c'])
      expect(judge(evidenceOf(bearer))).toBeNull();
    expect(judge(evidenceOf('a.b.c'))?.isUnproven).toBe(true);
    await close();
  });

  it('is a token that its own issuer may be asked about, and nobody about any other', async () => {
    const authenticator = open();
    const issuerOf = (bearer: string): unknown => authenticator.credentialOf(evidenceOf(bearer))?.issuer;
    const [own, theirs] = [await token(), await token({ iss: 'https://id.example.org' })];
    expect([own, theirs].map(issuerOf)).toEqual(['authentication.oidc.0', 'authentication.oidc.1']);
    await enter(authenticator, own);
    expect(issuerOf(own)).toBe('authentication.oidc.0');
    const others = ['a.b.c', await token({ iss: 'https://evil.example.org' }), await token({ iss: [issuer.url] })];
    expect(others.map(issuerOf)).toEqual([null, null, null]);
  });

  it('is a token that is proven only when it was accepted, in the trace of its request', async () => {
    const heard: unknown[] = [];
    issuer.answerWith((request, response) => {
      heard.push(request.headers['traceparent']);
      response.end(JSON.stringify({ keys: [key.jwk] }));
    });
    const authenticator = open();
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const [good, late] = [await token(), await token({ nbf: NOW + 60 })];
    const isUnproven = (bearer: string): boolean | undefined =>
      authenticator.credentialOf(evidenceOf(bearer))?.isUnproven;
    expect(isUnproven(good)).toBe(true);
    await enter(authenticator, good, { trace: { traceparent } });
    expect(isUnproven(good)).toBe(false);
    expect(await judged(enter(authenticator, late))).not.toBe('accepted');
    expect(isUnproven(late)).toBe(true);
    now = instantOf(now + 5 * 60_000);
    await enter(authenticator, good, { trace: { traceparent } });
    expect(heard).toEqual([traceparent, traceparent]);
  });

  it('is the same actor again, for as long as the issuer has its key', async () => {
    const authenticator = open();
    const bearer = await token();
    const first = await enter(authenticator, bearer);
    expect(await enter(authenticator, bearer)).toBe(first);
    issuer.publish([other.jwk]);
    now = instantOf(now + 5 * 60_000);
    expect(await judged(enter(authenticator, bearer))).toEqual([
      'unknown',
      'signed with a key that the issuer does not publish',
    ]);
  });
});

describe('a token that is bound to a certificate', () => {
  const refused = ['misdirected', 'bound to another certificate'];

  it('is used with that certificate alone, also when it is remembered', async () => {
    const authenticator = open();
    const bearer = await token({ cnf: { 'x5t#S256': certificateThumbprint(certificate) } });
    expect(await judged(enter(authenticator, bearer))).toEqual(refused);
    expect(await judged(enter(authenticator, bearer, { certificate }))).toBe('accepted');
    expect(await judged(enter(authenticator, bearer))).toEqual(refused);
    const theirs = await token({ cnf: { 'x5t#S256': 'A'.repeat(43) } });
    expect(await judged(enter(authenticator, theirs, { certificate }))).toEqual(refused);
  });

  it('is not the rule: a certificate beside a token that is bound to none does no harm', async () => {
    expect(await judged(enter(open(), await token(), { certificate }))).toBe('accepted');
  });
});

test('the fingerprint of a token is of its issuer, its subject and its id, or else of its claims', async () => {
  // Files of revocations hold them, so they stay as they are from version to version.
  const printOf = async (bearer: string): Promise<string | null> => (await enter(open(), bearer)).credentialFingerprint;
  const expected = (...parts: readonly string[]): string =>
    fingerprint('token', JSON.stringify([issuer.url, ...parts]));
  expect(await printOf(await token())).toBe(expected('alice', 'jti', 't1'));
  expect(await printOf(await token({ sub: 'bob' }))).toBe(expected('bob', 'jti', 't1'));
  for (const jti of ['', 7, undefined]) {
    const bearer = await token({ jti });
    const payload = bearer.split('.')[1] ?? '';
    expect(await printOf(bearer)).toBe(expected('alice', 'payload', hash('sha256', payload, 'base64')));
  }
});

describe('an issuer of the settings', () => {
  it('has its place there, and its provider', () => {
    expect(open().issuers.map(({ setting, provider }) => [setting, provider])).toEqual([
      ['authentication.oidc.0', 'orcid'],
      ['authentication.oidc.1', 'github'],
    ]);
  });

  it('is a fault of the settings if its document contradicts them, and none while it cannot be reached', async () => {
    issuer.answerWith((_, response) => void response.end(JSON.stringify({ issuer: 'https://id.example.org' })));
    const [wrong] = open({ jwksUrl: null }).issuers;
    expect(await wrong?.prepare()).toEqual({
      setting: 'authentication.oidc.0.issuer',
      message: 'the discovery document is of another issuer: `issuer` must be written exactly as there',
      fix: 'correct `issuer`, or set `jwksUrl`',
    });
    issuer.answerWith((_, response) => void response.writeHead(503).end());
    const [away] = open().issuers;
    expect([await away?.prepare(), away?.trouble()]).toEqual([null, 'it answers with status 503']);
  });

  it('is in trouble for as long as it has no key that fits', async () => {
    issuer.publish([]);
    const [empty] = open().issuers;
    expect([await empty?.prepare(), empty?.trouble()]).toEqual([null, 'it publishes no key for its algorithms']);
    issuer.publish([key.jwk]);
    const [sound] = open().issuers;
    expect([await sound?.prepare(), sound?.trouble()]).toEqual([null, null]);
  });
});
