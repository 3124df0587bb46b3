// Opaque tokens as an operator and an attacker meet them: what is logged and counted, what names a token in the log, and
// who may use it.
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { hash, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { instantOf } from '../../../engine/index.js';
import type { Authenticator, Evidence } from '../../../server/auth/authenticator.js';
import { certificateThumbprint } from '../../../server/auth/certificate-thumbprint.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import {
  type IntrospectionSettings,
  makeIntrospectionAuthenticator,
} from '../../../server/auth/introspection-authenticator.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { makeAuthority } from '../../support/certificates.js';
import { credentialOf } from '../../support/credential-of.js';
import { judged } from '../../support/refused-credential.js';
import { makeFolder } from '../../support/temp-folder.js';
import { openIssuer, type TokenIssuer } from '../../support/token-issuer.js';
import { INTROSPECTION_SETTINGS, NOW } from '../../support/token-world.js';
import { until } from '../../support/until.js';

const SETTING = 'authentication.introspection.0';
const GOOD = { active: true, sub: 'alice', exp: NOW + 300 };
const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));

let endpoint: TokenIssuer;
let folder: string;
let certificate: X509Certificate;
let now = instantOf(NOW * 1000);
let lines: (readonly [level: string, fields: object, message: string])[] = [];
const level =
  (name: string) =>
  (fields: object, message: string): void =>
    void lines.push([name, fields, message]);
const log = { info: level('info'), warn: level('warn'), error: level('error') };

beforeAll(async () => {
  endpoint = await openIssuer();
  folder = await makeFolder({ secret: 'secret' });
  certificate = new X509Certificate(readFileSync((await makeAuthority(folder)).certFile));
});

afterAll(() => endpoint.stop());

beforeEach(() => {
  now = instantOf(NOW * 1000);
  lines = [];
  say({});
});

/** From now on the endpoint says this of every token; text as it is. */
function say(answer: object | string, status = 200): void {
  const text = typeof answer === 'string' ? answer : JSON.stringify({ ...GOOD, ...answer });
  endpoint.answerWith((_, response) => void response.writeHead(status).end(text));
}

function make(more: Partial<IntrospectionSettings> = {}): Authenticator<RequestActor> {
  const settings: IntrospectionSettings = {
    url: `${endpoint.url}/introspect`,
    clientId: 'bailiwick',
    clientSecretFile: join(folder, 'secret'),
    ...INTROSPECTION_SETTINGS,
    ...more,
  };
  const tools = { fingerprint, clock: { now: () => now }, log };
  return makeIntrospectionAuthenticator(settings, { ...tools, setting: SETTING, leavesSigned: 'takes all' });
}

async function open(more: Partial<IntrospectionSettings> = {}): Promise<Authenticator<RequestActor>> {
  const made = make(more);
  expect(await made.issuers[0]?.prepare()).toBeNull();
  return made;
}

function enter(authenticator: Authenticator<RequestActor>, more: Partial<Evidence> = {}): Promise<RequestActor> {
  const evidence = { bearer: 'opaque', certificate: null, address: '192.0.2.1', ...more };
  return credentialOf(authenticator, evidence).authenticate(now);
}

const refusalOf = (...how: Parameters<typeof enter>): ReturnType<typeof judged> => judged(enter(...how));

const printOf = async (authenticator: Authenticator<RequestActor>, bearer = 'opaque'): Promise<string | null> =>
  (await enter(authenticator, { bearer })).credentialFingerprint;

describe('what the operator is told', () => {
  const trouble = (reason: string): readonly unknown[] => [
    'warn',
    { setting: SETTING, reason, error: expect.any(Error) },
    'the introspection endpoint could not be used',
  ];

  it('is each trouble once, and its end', async () => {
    const authenticator = await open();
    await enter(authenticator);
    expect(lines).toEqual([]);
    say({}, 401);
    for (const bearer of ['a', 'b', 'c'])
      expect(await refusalOf(authenticator, { bearer })).toEqual([
        'auth.unavailable',
        'the introspection endpoint answers with status 401',
      ]);
    expect(authenticator.issuers[0]?.trouble()).toBe('answers with status 401');
    say('yes');
    for (const bearer of ['a', 'b']) await refusalOf(authenticator, { bearer });
    say({});
    for (const bearer of ['a', 'b', 'c']) await enter(authenticator, { bearer });
    expect(lines).toEqual([
      trouble('answers with status 401'),
      trouble('cannot be understood: its answer is not strict JSON'),
      ['info', { setting: SETTING }, 'the introspection endpoint answers again'],
    ]);
    expect(authenticator.issuers[0]?.trouble()).toBeNull();
  });

  it('is that an answer leaves open whether a token is active', async () => {
    for (const answer of ['{"sub":"alice"}', { active: 'true' }, { active: 1 }]) {
      say(answer);
      expect(await refusalOf(await open())).toEqual([
        'auth.unavailable',
        'the introspection endpoint cannot be understood: its answer does not say whether the token is active',
      ]);
    }
  });

  it('is which setting is wrong, and what would be right', async () => {
    const [issuer, ...others] = make({ clientSecretFile: join(folder, 'nothing') }).issuers;
    expect([issuer?.setting, issuer?.provider, others]).toEqual([SETTING, 'idp', []]);
    expect(await issuer?.prepare()).toEqual({
      setting: `${SETTING}.clientSecretFile`,
      message: 'names a file that does not exist',
      fix: 'name a file with the secret of the client and nothing else',
    });
  });

  it('is the name of the way in', async () => {
    const authenticator = await open();
    expect(authenticator.name).toBe('introspection');
    await authenticator.close();
  });
});

test.each<[string, Partial<IntrospectionSettings>, object, unknown]>([
  ['is not active', {}, { active: false }, ['unknown', 'no longer active, says the introspection endpoint']],
  ['has ended', {}, { exp: NOW }, ['expired', 'expired']],
  ['ends in a moment', {}, { exp: NOW + 0.001 }, 'accepted'],
  ['has no end', {}, { exp: undefined }, 'accepted'],
  ['has no type', {}, { token_type: undefined }, 'accepted'],
  ['has a type in capitals', {}, { token_type: 'BEARER' }, 'accepted'],
  ['has another type', {}, { token_type: 'DPoP' }, ['misdirected', 'not an access token: its type is not accepted']],
  ['has a number for a type', {}, { token_type: 7 }, ['misdirected', 'not an access token: its type is not accepted']],
  ['is for others', { audience: ['us'] }, { aud: 'them' }, ['misdirected', 'for another audience']],
  ['is for us, too', { audience: ['we', 'us'] }, { aud: ['them', 'us'] }, 'accepted'],
])('a token that %s', async (_, settings, answer, expected) => {
  say(answer);
  expect(await refusalOf(await open(settings))).toEqual(expected);
});

describe('a token that is bound to a certificate', () => {
  it('is used with that certificate alone', async () => {
    const authenticator = await open();
    const refused = ['misdirected', 'bound to another certificate'];
    say({ cnf: { 'x5t#S256': certificateThumbprint(certificate) } });
    expect(await refusalOf(authenticator, { certificate })).toBe('accepted');
    // Also where the answer is remembered.
    expect(await refusalOf(authenticator)).toEqual(refused);
    say({ cnf: { 'x5t#S256': 'A'.repeat(43) } });
    expect(await refusalOf(authenticator, { bearer: 'other', certificate })).toEqual(refused);
  });

  it('is not the rule: a certificate beside a token that is bound to none does no harm', async () => {
    expect(await refusalOf(await open(), { certificate })).toBe('accepted');
  });
});

describe('the fingerprint of a token', () => {
  // Files of revocations hold them, so they stay as they are from version to version.
  it('is of the endpoint, the subject and the id of the token, or else its digest', async () => {
    const authenticator = await open();
    const url = `${endpoint.url}/introspect`;
    const expected = (...which: readonly string[]): string => fingerprint('token', JSON.stringify([url, ...which]));
    const digest = hash('sha256', 'opaque', 'base64');
    expect(await printOf(authenticator)).toBe(expected('alice', 'token', digest));
    say({ jti: 'one' });
    expect(await printOf(authenticator, 'b')).toBe(expected('alice', 'jti', 'one'));
    say({ sub: 'bob', jti: 'one' });
    expect(await printOf(authenticator, 'c')).toBe(expected('bob', 'jti', 'one'));
    for (const [bearer, jti] of [
      ['d', ''],
      ['e', 7],
    ] as const) {
      say({ jti });
      expect(await printOf(authenticator, bearer)).toBe(expected('alice', 'token', hash('sha256', bearer, 'base64')));
    }
  });
});

it('asks again if the clock was set back', async () => {
  const authenticator = await open();
  await enter(authenticator);
  now = instantOf(now - 1);
  say({ active: false });
  expect(await refusalOf(authenticator)).not.toBe('accepted');
});

it('remembers answers as far as there is room for them', async () => {
  const authenticator = await open({ groupsClaim: 'groups' });
  const groups = Array.from({ length: 500 }, (_, index) => `${'g'.repeat(230)}${String(index)}`);
  say({ groups });
  const before = endpoint.asked.length;
  const most = Math.ceil(TOKEN_LIMITS.verifiedBytes / JSON.stringify(groups).length);
  for (let index = 0; index < most; index += 1) await enter(authenticator, { bearer: `t${String(index)}` });
  const isRemembered = (index: number): boolean => {
    const evidence = { bearer: `t${String(index)}`, certificate: null, address: '192.0.2.1' };
    return !credentialOf(authenticator, evidence).isUnproven;
  };
  expect([isRemembered(0), isRemembered(most - 1)]).toEqual([false, true]);
  expect((await enter(authenticator, { bearer: 't0' })).identities).toHaveLength(groups.length + 1);
  expect(endpoint.asked.length - before).toBe(most + 1);
});

it('judges no request without a token', async () => {
  expect((await open()).credentialOf({ bearer: null, certificate, address: '192.0.2.1' })).toBeNull();
});

it('keeps a client waiting that asks about many tokens at once, for a bounded time, and nobody else', async () => {
  const authenticator = await open();
  const { perAddress, patience } = TOKEN_LIMITS.introspections;
  const held: (() => void)[] = [];
  endpoint.answerWith((_, response) => {
    held.push(() => response.end(JSON.stringify(GOOD)));
  });
  const many = Array.from({ length: perAddress }, (__, index) => enter(authenticator, { bearer: `t${String(index)}` }));
  await until(() => held.length === perAddress);
  mock.timers.enable({ apis: ['setTimeout'] });
  const more = refusalOf(authenticator, { bearer: 'one-more' });
  await new Promise(setImmediate);
  mock.timers.tick(patience);
  mock.timers.reset();
  expect(await more).toEqual(['auth.unavailable', 'too many requests to the introspection endpoint are in progress']);
  const other = enter(authenticator, { bearer: 'of-another', address: '192.0.2.2' });
  await until(() => held.length === perAddress + 1);
  for (const end of held) end();
  expect((await Promise.all([...many, other])).map(({ id }) => id)).toEqual(
    Array.from({ length: perAddress + 1 }, () => 'idp:alice'),
  );
});
