// A gateway that asks a real endpoint about opaque tokens, while the endpoint is slow, fails or hangs, and while
// strangers bring it tokens of their own making. It has two issuers of signed tokens, too, of which one is away.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { openGateway, policyOf, type TestGateway } from '../support/gateway.js';
import { makeFolder } from '../support/temp-folder.js';
import { makeIssuerKey, openIssuer, sign, type TokenIssuer } from '../support/token-issuer.js';
import { INTROSPECTION_SETTINGS, ISSUER_SETTINGS } from '../support/token-world.js';

const signer = await makeIssuerKey('k1');
let endpoint: TokenIssuer;
let away: TokenIssuer;
let issuer: TokenIssuer;
let open: TestGateway;
let asked: { readonly token: string; readonly response: ServerResponse }[] = [];
/** What the endpoint does with a question. */
let answer: (token: string, response: ServerResponse) => void;

/** Says of each token that begins with `good` that it is active. */
function say(token: string, response: ServerResponse): void {
  response.end(JSON.stringify({ active: token.startsWith('good'), sub: 'alice' }));
}

beforeAll(async () => {
  const folder = await makeFolder({ secret: 'canary-secret-of-the-client' });
  [endpoint, away, issuer] = await Promise.all([openIssuer(), openIssuer(), openIssuer([signer.jwk])]);
  away.answerWith((_, response) => void response.destroy());
  endpoint.answerWith((request, response) => {
    let form = '';
    request.on('data', (chunk: Buffer) => (form += chunk.toString()));
    request.on('end', () => {
      const token = new URLSearchParams(form).get('token') ?? '';
      asked.push({ token, response });
      answer(token, response);
    });
  });
  open = await openGateway({
    rate: { unauthenticated: 50 },
    mode: { kind: 'serve', policy: policyOf([[{ provider: 'idp', subject: 'alice' }, '/labs', ['resource:read']]]) },
    authentication: {
      keys: { enabled: true },
      oidc: [away, issuer].map(({ url }) => ({ ...ISSUER_SETTINGS, issuer: url, provider: 'idp' })),
      introspection: [
        {
          url: endpoint.url,
          clientId: 'gateway',
          clientSecretFile: join(folder, 'secret'),
          ...INTROSPECTION_SETTINGS,
          cacheTime: 1_000,
        },
      ],
      mtls: null,
      revocationsFile: null,
    },
  });
});

afterAll(async () => {
  await open.dispose();
  await Promise.all([endpoint, away, issuer].map((one) => one.stop()));
});

beforeEach(() => {
  asked = [];
  answer = say;
});

interface Told {
  readonly status: number;
  readonly code: unknown;
  readonly retryAfter: string | undefined;
  readonly challenge: string | undefined;
}

function whoami(token: string, localAddress = '127.0.0.1'): Promise<Told> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: open.port,
      localAddress,
      path: '/api/v1/whoami',
      agent: false,
      headers: { authorization: `Bearer ${token}` },
    };
    const request = httpRequest(options, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const { code } = JSON.parse(text) as { readonly code?: unknown };
        const { 'retry-after': retryAfter, 'www-authenticate': challenge } = response.headers;
        resolve({ status: response.statusCode ?? 0, code, retryAfter, challenge });
      });
    });
    request.on('error', reject);
    request.end();
  });
}

it('a valid token is accepted while strangers of five addresses keep a slow endpoint busy', async () => {
  answer = (token, response) =>
    void setTimeout(() => {
      say(token, response);
    }, 400);
  let on = true;
  let bogus = 0;
  const flood = Array.from({ length: 150 }, async (_, index) => {
    const address = `127.0.0.${String(20 + (index % 5))}`;
    while (on) {
      bogus += 1;
      await whoami(`bogus${String(bogus)}`, address);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  // All places are taken: 16 by each of four addresses.
  while (asked.length < 64) await new Promise(setImmediate);
  const told = await Promise.all(Array.from({ length: 12 }, (_, index) => whoami(`good-${String(index)}`)));
  on = false;
  await Promise.all(flood);
  expect(told.map(({ status }) => status)).toEqual(Array<number>(12).fill(200));
});

it('one address has a quarter of all places at the endpoint, and its other tokens wait', async () => {
  answer = () => undefined;
  const waiting = Array.from({ length: 30 }, (_, index) => whoami(`good-many-${String(index)}`, '127.0.0.30'));
  while (asked.length < 16) await new Promise(setImmediate);
  answer = say;
  expect((await whoami('good-of-another')).status).toBe(200);
  expect(asked).toHaveLength(17);
  for (const { token, response } of asked.slice(0, 16)) say(token, response);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array<number>(30).fill(200));
});

it.each<[string, typeof answer]>([
  ['fails', (_, response) => void response.writeHead(500).end()],
  ['is overloaded', (_, response) => void response.writeHead(503).end('{}')],
  ['hangs up', (_, response) => void response.destroy()],
  ['says something else', (_, response) => void response.end('<html>')],
  ['never answers', () => undefined],
  ['never finishes its answer', (_, response) => void response.write('{"active":')],
])('a token is not called invalid while the endpoint %s: its client is told to wait', async (name, listener) => {
  const token = `good-${name.replaceAll(' ', '-')}`;
  answer = listener;
  const began = performance.now();
  expect(await whoami(token)).toEqual({
    status: 503,
    code: 'auth.unavailable',
    retryAfter: '2',
    challenge: undefined,
  });
  expect(performance.now() - began).toBeLessThan(6_000);
  answer = say;
  expect((await whoami(token)).status).toBe(200);
});

it('a token that is not active is invalid, as before', async () => {
  expect(await whoami('bad')).toMatchObject({
    status: 401,
    code: 'auth.invalid',
    challenge: expect.anything() as unknown,
  });
});

describe('an outage of the endpoint is not the fault of its clients', () => {
  const many = (name: string, address: string, count: number): Promise<readonly Told[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => whoami(`${name}-${String(index)}`, address)));

  it('none of them is told that it sends too much, and other credentials of their address are accepted', async () => {
    answer = (_, response) => void response.destroy();
    const told = await many('good-away', '127.0.0.40', 200);
    expect(new Set(told.map(({ code }) => code))).toEqual(new Set(['auth.unavailable']));
    // One after the other, so that each needs its own look-up.
    for (let index = 0; index < 60; index += 1) {
      const { text } = await open.key({ actor: `key${String(index)}` });
      expect((await whoami(text, '127.0.0.40')).status).toBe(200);
    }
  });

  it('a token that was valid before is told to wait, too', async () => {
    expect(new Set((await many('good-known', '127.0.0.41', 60)).map(({ status }) => status))).toEqual(new Set([200]));
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    answer = (_, response) => void response.destroy();
    const told = [...(await many('good-known', '127.0.0.41', 60)), ...(await many('good-known', '127.0.0.41', 60))];
    expect(new Set(told.map(({ code }) => code))).toEqual(new Set(['auth.unavailable']));
  });

  it('signed tokens of another issuer are accepted from the address of those that nobody can judge', async () => {
    const seconds = Math.floor(Date.now() / 1000);
    const signed = ({ url }: TokenIssuer, jti: string): Promise<string> =>
      sign(signer, { iss: url, sub: 'alice', aud: 'bailiwick', iat: seconds, exp: seconds + 300, jti });
    const forged = await Promise.all(Array.from({ length: 200 }, (_, index) => signed(away, String(index))));
    const all = [...forged, await signed(issuer, 'good')].map((token) => whoami(token, '127.0.0.43'));
    const told = (await Promise.all(all)).map(({ status }) => status);
    expect([new Set(told.slice(0, -1)), told.at(-1)]).toEqual([new Set([503]), 200]);
  });

  it('a key of the same address does not wait for a silent endpoint', async () => {
    answer = () => undefined;
    const waiting = many('good-silent', '127.0.0.42', 70);
    while (asked.length < 16) await new Promise(setImmediate);
    const { text } = await open.key({ actor: 'patient' });
    const began = performance.now();
    expect((await whoami(text, '127.0.0.42')).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(1_500);
    answer = say;
    await waiting;
  });
});
