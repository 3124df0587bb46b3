// Opaque tokens: a clear yes from their issuer counts for a short while, and nothing else counts.
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import { instantOf, carriedNames, unrestrictedPolicy } from '../../../engine/index.js';
import type { Authenticator } from '../../../server/auth/authenticator.js';
import { makeFingerprinter } from '../../../server/auth/fingerprint.js';
import {
  type IntrospectionSettings,
  makeIntrospectionAuthenticator,
} from '../../../server/auth/introspection-authenticator.js';
import type { RequestActor } from '../../../server/auth/request-actor.js';
import { ApiProblem } from '../../../server/problem.js';
import { credentialOf } from '../../support/credential-of.js';
import { makeFolder } from '../../support/temp-folder.js';
import { NEVER_REACHED } from '../../support/never-reached.js';
import { openIssuer, type TokenIssuer } from '../../support/token-issuer.js';
import { INTROSPECTION_SETTINGS } from '../../support/token-world.js';

const SECRET = 'canary secret: of %the& client+';
const NOW = 1_800_000_000;
let now = instantOf(NOW * 1000);
let endpoint: TokenIssuer;
let folder: string;
let asked: {
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
  readonly trace: unknown;
}[] = [];
const lines: object[] = [];
const line = (fields: object): void => void lines.push(fields);
const log = { info: line, warn: line, error: line };

beforeAll(async () => {
  endpoint = await openIssuer();
  folder = await makeFolder({ secret: `${SECRET}\n`, empty: '' });
});

afterAll(async () => {
  await endpoint.stop();
});

beforeEach(() => {
  now = instantOf(NOW * 1000);
  asked = [];
  say({});
});

const GOOD = { active: true, sub: 'alice', client_id: 'app', exp: NOW + 300, iat: NOW, token_type: 'Bearer' };

/** From now on the endpoint says this of every token; text as it is. */
function say(answer: object | string, status = 200): void {
  const text = typeof answer === 'string' ? answer : JSON.stringify({ ...GOOD, ...answer });
  endpoint.answerWith((request, response) => {
    void readAll(request).then((body) => {
      const { authorization, traceparent: trace } = request.headers;
      asked.push({ form: new URLSearchParams(body), authorization, trace });
      response.writeHead(status, { 'content-type': 'application/json' }).end(text);
    });
  });
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

async function open(
  more: Partial<IntrospectionSettings> = {},
  leavesSigned: 'takes all' | 'leaves signed tokens' = 'takes all',
): Promise<Authenticator<RequestActor>> {
  const settings: IntrospectionSettings = {
    url: `${endpoint.url}/introspect`,
    clientId: 'bailiwick:gateway',
    clientSecretFile: join(folder, 'secret'),
    ...INTROSPECTION_SETTINGS,
    ...more,
  };
  const fingerprint = makeFingerprinter(Buffer.alloc(32, 1));
  const tools = { fingerprint, clock: { now: () => now }, log };
  const made = makeIntrospectionAuthenticator(settings, {
    ...tools,
    setting: 'authentication.introspection.0',
    leavesSigned,
  });
  expect(await made.issuers[0]?.prepare()).toBeNull();
  return made;
}

async function actorOf(authenticator: Authenticator<RequestActor>, bearer = 'opaque-1'): Promise<RequestActor> {
  return credentialOf(authenticator, { bearer, certificate: null, address: '127.0.0.1' }).authenticate(now);
}

async function refusalOf(authenticator: Authenticator<RequestActor>, bearer?: string): Promise<string> {
  const error: unknown = await actorOf(authenticator, bearer).catch((reason: unknown) => reason);
  if (!(error instanceof Error)) return 'accepted';
  if (error instanceof ApiProblem && error.code === 'auth.invalid') return error.detail.reason ?? '';
  if (error instanceof ApiProblem && error.code === 'auth.unavailable') {
    expect([error.status, error.detail.retryAfter]).toEqual([503, 2]);
    return `not judged: ${error.detail.reason ?? ''}`;
  }
  throw error;
}

describe('an active token', () => {
  it('is whose the endpoint says, asked with the secret of the client', async () => {
    say({ scope: 'openid resource:read' });
    const actor = await actorOf(await open());
    expect(actor).toMatchObject({
      kind: 'token',
      id: 'idp:alice',
      identities: [{ provider: 'idp', subject: 'alice' }],
    });
    expect(carriedNames(actor.credentialScopes, unrestrictedPolicy())).toEqual(['resource:read']);
    expect([...(asked[0]?.form ?? [])]).toEqual([
      ['token', 'opaque-1'],
      ['token_type_hint', 'access_token'],
    ]);
    const credentials = Buffer.from(asked[0]?.authorization?.slice('Basic '.length) ?? '', 'base64').toString();
    expect(credentials.split(':').map((part) => new URLSearchParams(`x=${part}`).get('x'))).toEqual([
      'bailiwick:gateway',
      SECRET,
    ]);
  });

  it('is asked about in the trace of the request that brings it', async () => {
    const trace = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
    const authenticator = await open();
    await credentialOf(authenticator, {
      bearer: 'opaque-1',
      certificate: null,
      address: '127.0.0.1',
      trace,
    }).authenticate(now);
    expect(asked[0]?.trace).toBe(trace.traceparent);
  });

  it('is asked about once in ten seconds, and by all together once', async () => {
    const authenticator = await open();
    const evidence = { bearer: 'opaque-1', certificate: null, address: '127.0.0.1' };
    expect(credentialOf(authenticator, evidence).isUnproven).toBe(true);
    await Promise.all(Array.from({ length: 100 }, () => actorOf(authenticator)));
    expect(asked).toHaveLength(1);
    expect(credentialOf(authenticator, evidence).isUnproven).toBe(false);
    now = instantOf(now + 9_999);
    await actorOf(authenticator);
    expect(asked).toHaveLength(1);
    say('{"active":false}');
    now = instantOf(now + 1);
    expect(await refusalOf(authenticator)).toBe('no longer active, says the introspection endpoint');
    await refusalOf(authenticator);
    // What was refused is asked about again, and counts as an attempt.
    expect(asked).toHaveLength(3);
    expect(credentialOf(authenticator, evidence).isUnproven).toBe(true);
  });

  it('may be of any form, and a JSON Web Token only in its one spelling', async () => {
    const part = (text: string): string => Buffer.from(text).toString('base64url');
    const authenticator = await open();
    const [header, payload] = [part('{ "alg":"RS256"}'), part('{"sub":"alice"}')];
    const accepted = [
      'v2.local.QAxIpVe-ECVNI1z4xQbm_qQYomyT3h8FtV8bxkz8pBJWkT8f7HtlOpbroPDEZUKop_vaglyp76CzYy375cHmKCW8e1CCkV0',
      'one.two.three',
      'a.b',
      `${header}.${payload}.c2lnbmU`,
      `${header}..aXY.Y2lwaGVy.dGFn`,
    ];
    for (const bearer of accepted)
      expect([bearer, await refusalOf(authenticator, bearer)]).toEqual([bearer, 'accepted']);
    const before = asked.length;
    // The last character of each has bits that no byte has.
    const refused = [
      `${header}.${payload}.c2lnbmV`,
      `${header.slice(0, -1)}R.${payload}.c2lnbmU`,
      `${header}..aXZ.Y2lwaGVy.dGFn`,
    ];
    for (const bearer of refused)
      expect([bearer, await refusalOf(authenticator, bearer)]).toEqual([bearer, 'not a token in its only spelling']);
    expect(asked).toHaveLength(before);
  });

  it('ends with its time, also where the answer is remembered', async () => {
    say({ exp: NOW + 5 });
    const authenticator = await open();
    expect(await refusalOf(authenticator)).toBe('accepted');
    now = instantOf((NOW + 5) * 1000);
    expect(await refusalOf(authenticator)).toBe('expired');
  });

  it('has a fingerprint that names it', async () => {
    const authenticator = await open();
    const printOf = async (bearer: string): Promise<string | null> =>
      (await actorOf(authenticator, bearer)).credentialFingerprint;
    expect(new Set([await printOf('a'), await printOf('b'), await printOf('a')]).size).toBe(2);
    say({ jti: 'one' });
    expect(await printOf('c')).toBe(await printOf('d'));
  });
});

test.each<[string, number, object | string]>([
  ['not active', 200, { active: false }],
  ['a text for active', 200, { active: 'true' }],
  ['a number for active', 200, { active: 1 }],
  ['no word of active', 200, '{"sub":"alice"}'],
  ['active twice', 200, '{"active":false,"sub":"alice","active":true}'],
  ['a list', 200, '[true]'],
  ['no JSON', 200, 'yes'],
  ['nothing', 200, ''],
  ['an error', 401, GOOD],
  ['a redirection', 302, GOOD],
  ['created', 201, GOOD],
  ['no subject', 200, { sub: '' }],
  ['no usable subject', 200, { sub: 7 }],
  ['an end in text', 200, { exp: 'tomorrow' }],
  ['an end that is past', 200, { exp: NOW }],
  ['another type of token', 200, { token_type: 'DPoP' }],
  ['bound to another proof', 200, { cnf: { jkt: 'x' } }],
  ['a scope that does not exist', 200, { scope: 'resource:delete' }],
  ['C25 more than there is room for', 200, `{"active":true,"sub":"alice","x":"${'x'.repeat(1024 * 1024)}"}`],
])('an answer with %s is no', async (_name, status, answer) => {
  say(answer, status);
  expect(await refusalOf(await open())).not.toBe('accepted');
});

test.each<[string, RequestListener]>([
  ['closes', (request) => void request.socket.destroy()],
  ['never answers', () => undefined],
])('an endpoint that %s refuses, and says so', async (_name, listener) => {
  const authenticator = await open();
  expect(await refusalOf(authenticator)).toBe('accepted');
  endpoint.answerWith(listener);
  // What was said before counts on, for its time.
  expect(await refusalOf(authenticator)).toBe('accepted');
  expect(await refusalOf(authenticator, 'opaque-2')).toMatch(
    /^not judged: the introspection endpoint (cannot be reached|did not)/,
  );
  expect(authenticator.issuers[0]?.trouble()).toMatch(/cannot be reached|did not answer/);
  say({});
  expect(await refusalOf(authenticator, 'opaque-2')).toBe('accepted');
  expect(authenticator.issuers[0]?.trouble()).toBeNull();
});

test('the audience counts where the settings name one', async () => {
  const authenticator = await open({ audience: ['bailiwick'] });
  expect(await refusalOf(authenticator)).toBe('`aud` is missing, or neither a string nor a list of strings');
  say({ aud: 'other' });
  expect(await refusalOf(authenticator)).toBe('for another audience');
  say({ aud: ['other', 'bailiwick'] });
  expect(await refusalOf(authenticator)).toBe('accepted');
});

test('which tokens are for which endpoint', async () => {
  const claims = async (bearer: string, ...settings: Parameters<typeof open>): Promise<boolean> =>
    (await open(...settings)).credentialOf({ bearer, certificate: null, address: '127.0.0.1' }) !== null;
  expect(await claims('opaque')).toBe(true);
  for (const bearer of ['', 'bwk_x_y', 'a b', 'a\n', 'ä', 'a,b']) expect(await claims(bearer)).toBe(false);
  expect([await claims('a.b.c'), await claims('a.b.c', {}, 'leaves signed tokens')]).toEqual([true, false]);
  expect([await claims('glpat-x', { tokenPrefix: 'glpat-' }), await claims('x', { tokenPrefix: 'glpat-' })]).toEqual([
    true,
    false,
  ]);
});

describe('where the endpoint may be', () => {
  it.each(NEVER_REACHED)('not at %s', async (address) => {
    const authenticator = await open({ url: `https://${address}/introspect` });
    expect(await refusalOf(authenticator)).toMatch(/^not judged: the introspection endpoint leads to an address/);
  });

  it('nowhere else than where the settings say: a redirect is not followed', async () => {
    endpoint.answerWith((_, response) => response.writeHead(307, { location: 'https://169.254.169.254/' }).end());
    expect(await refusalOf(await open())).toMatch(/^not judged: .*redirect, which is not followed/);
  });

  it('nobody who would rather speak another protocol', async () => {
    endpoint.answerWith((request) => {
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
    });
    expect(await refusalOf(await open())).toMatch(/^not judged: the introspection endpoint /);
  });
});

test('a secret that cannot be read is a fault of the settings', async () => {
  const { issuers } = await open();
  expect(issuers).toHaveLength(1);
  for (const [file, message] of [
    ['nothing', 'names a file that does not exist'],
    ['empty', 'names a file that is empty'],
  ] as const) {
    const made = makeIntrospectionAuthenticator(
      {
        url: endpoint.url,
        clientId: 'x',
        clientSecretFile: join(folder, file),
        provider: 'idp',
      } as IntrospectionSettings,
      { fingerprint: () => '', clock: { now: () => now }, log, setting: 's', leavesSigned: 'takes all' },
    );
    expect(await made.issuers[0]?.prepare()).toMatchObject({ setting: 's.clientSecretFile', message });
  }
});

test('neither the secret nor a token is ever logged', () => {
  expect(lines.length).toBeGreaterThan(0);
  for (const secret of [SECRET, 'opaque-2']) expect(JSON.stringify(lines)).not.toContain(secret);
});
