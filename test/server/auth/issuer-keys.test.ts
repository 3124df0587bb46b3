// The keys of an issuer over time: rotated, withdrawn, out of reach, and served by somebody who means harm.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type IncomingMessage, request, type RequestListener, type RequestOptions } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import { gzipSync } from 'node:zlib';
import { instantOf } from '../../../engine/index.js';
import { type IssuerKeys, type IssuerKeysOptions, makeIssuerKeys } from '../../../server/auth/issuer-keys.js';
import { TOKEN_LIMITS } from '../../../server/limits/credentials.js';
import { NEVER_REACHED } from '../../support/never-reached.js';
import { type IssuerKey, makeIssuerKey, openIssuer, type TokenIssuer } from '../../support/token-issuer.js';
import { until } from '../../support/until.js';

const START = instantOf(1_800_000_000_000);
const MINUTE = 60_000;
let now = START;
let issuer: TokenIssuer;
let first: IssuerKey;
let second: IssuerKey;
const said: string[] = [];
const log = {
  info: (_fields: object, message: string) => void said.push(message),
  warn: (_fields: object, message: string) => void said.push(message),
  error: (_fields: object, message: string) => void said.push(message),
};

beforeAll(async () => {
  [first, second] = await Promise.all([makeIssuerKey('k1'), makeIssuerKey('k2')]);
  issuer = await openIssuer();
});

afterAll(async () => {
  await issuer.stop();
});

beforeEach(() => {
  now = START;
  said.length = 0;
  issuer.publish([first.jwk]);
  issuer.answerWith(null);
});

const opened: IssuerKeys[] = [];
afterEach(() => {
  for (const keys of opened.splice(0)) keys.close();
});

function open(more: Partial<IssuerKeysOptions> = {}): IssuerKeys {
  const options = { issuer: issuer.url, jwksUrl: `${issuer.url}/jwks`, algorithms: ['ES256'] as const };
  const keys = makeIssuerKeys({ ...options, clock: { now: () => now }, log, ...more });
  opened.push(keys);
  return keys;
}

async function has(keys: IssuerKeys, keyId: string): Promise<boolean> {
  return (await keys.find(keyId, 'ES256')) !== null;
}

function pass(time: number): void {
  now = instantOf(now + time);
}

test('keys are fetched in the trace of the request that needs them', async () => {
  const heard: unknown[] = [];
  const keys = open();
  issuer.answerWith((request, response) => {
    heard.push(request.headers['traceparent']);
    response.writeHead(503).end();
  });
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  expect(await keys.find('k1', 'ES256', { traceparent })).toBeNull();
  expect(heard).toEqual([traceparent]);
});

describe('C24 rotation', () => {
  test('a new key is fetched when a token names it, once for all that come together', async () => {
    const keys = open();
    expect(await has(keys, 'k1')).toBe(true);
    issuer.publish([first.jwk, second.jwk]);
    pass(10_000);
    const before = issuer.asked.length;
    expect(await Promise.all(Array.from({ length: 200 }, () => has(keys, 'k2')))).not.toContain(false);
    expect(issuer.asked.length).toBe(before + 1);
  });

  test('a key that the issuer withdrew is refused after five minutes, also where nobody came meanwhile', async () => {
    const keys = open();
    await keys.find('k1', 'ES256');
    issuer.publish([second.jwk]);
    pass(5 * MINUTE - 1);
    expect(await has(keys, 'k1')).toBe(true);
    pass(1);
    expect(await Promise.all(Array.from({ length: 200 }, () => has(keys, 'k1')))).not.toContain(true);
    expect(await has(keys, 'k2')).toBe(true);
  });

  test('a key that stays is the same object, one whose material changes is another', async () => {
    const keys = open();
    const before = await keys.find('k1', 'ES256');
    issuer.publish([second.jwk, first.jwk]);
    pass(5 * MINUTE);
    expect(await keys.find('k1', 'ES256')).toBe(before);
    issuer.publish([{ ...second.jwk, kid: 'k1' }]);
    pass(5 * MINUTE);
    expect(await keys.find('k1', 'ES256')).not.toBe(before);
  });

  test('a clock that was set back fetches again', async () => {
    const keys = open();
    await keys.find('k1', 'ES256');
    const before = issuer.asked.length;
    pass(-MINUTE);
    await keys.find('k1', 'ES256');
    expect(issuer.asked.length).toBe(before + 1);
  });

  test('an empty set withdraws every key', async () => {
    const keys = open();
    await keys.find('k1', 'ES256');
    issuer.publish([]);
    pass(5 * MINUTE);
    expect(await has(keys, 'k1')).toBe(false);
  });

  test('of two keys with one name neither is used', async () => {
    issuer.publish([first.jwk, { ...second.jwk, kid: 'k1' }]);
    expect(await has(open(), 'k1')).toBe(false);
  });
});

const KEYS_BYTES = (): string => JSON.stringify({ keys: [first.jwk, second.jwk] });

const OUTAGES: readonly (readonly [string, RequestListener])[] = [
  ['an error', (_request, response) => void response.writeHead(500).end()],
  ['an error with keys', (_request, response) => void response.writeHead(500).end(KEYS_BYTES())],
  ['nothing at all', (request) => void request.socket.destroy()],
  ['half an answer', (_request, response) => void response.writeHead(200).write('{"keys":', () => response.destroy())],
  [
    'a redirection',
    (_request, response) => void response.writeHead(302, { location: `${issuer.url}/elsewhere` }).end(KEYS_BYTES()),
  ],
  ['a web page', (_request, response) => void response.end('<html>sign in</html>')],
  ['keys that are no list', (_request, response) => void response.end('{"keys":{}}')],
  ['a list', (_request, response) => void response.end('[]')],
  [
    'a member twice',
    (_request, response) => void response.end(`{"keys":[],"keys":${JSON.stringify([first.jwk, second.jwk])}}`),
  ],
  [
    'ten thousand keys',
    (_request, response) => void response.end(JSON.stringify({ keys: Array.from({ length: 10_000 }, () => ({})) })),
  ],
  [
    'compressed keys',
    (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(KEYS_BYTES())),
  ],
];

describe('C23 an issuer out of reach', () => {
  test.each(OUTAGES)('%s: known keys go on, unknown ones are refused', async (_name, listener) => {
    const keys = open();
    await keys.find('k1', 'ES256');
    issuer.answerWith(listener);
    pass(6 * MINUTE);
    expect(await has(keys, 'k1')).toBe(true);
    pass(10_000);
    expect(await has(keys, 'k2')).toBe(false);
    expect(keys.state().failure?.kind).toBe('unreachable');
    pass(24 * 60 * MINUTE - 6 * MINUTE - 10_001);
    expect(await has(keys, 'k1')).toBe(true);
    pass(1);
    expect(await has(keys, 'k1')).toBe(false);
    issuer.answerWith(null);
    pass(10_000);
    expect(await has(keys, 'k1')).toBe(true);
    expect(keys.state().failure).toBeNull();
    expect(said.at(-1)).toBe('the keys of an issuer can be fetched again');
  });

  test('C29 before the first keys there is nobody', async () => {
    issuer.answerWith((_request, response) => void response.writeHead(503).end());
    const keys = open();
    expect(await keys.prepare()).toMatchObject({ kind: 'unreachable', message: 'it answers with status 503' });
    expect(await has(keys, 'k1')).toBe(false);
    issuer.answerWith(null);
    pass(10_000);
    expect(await has(keys, 'k1')).toBe(true);
  });
});

describe('without a token', () => {
  const { keysRetry } = TOKEN_LIMITS;
  const retry = (): void => {
    pass(keysRetry);
    mock.timers.tick(keysRetry);
  };
  afterEach(() => {
    mock.timers.reset();
  });

  test.each<[string, RequestListener]>([
    ['does not answer', (request) => void request.socket.destroy()],
    ['has no key', (_request, response) => void response.end('{"keys":[]}')],
  ])('an issuer that %s is asked again until it does, and not once its keys are closed', async (_, listener) => {
    mock.timers.enable({ apis: ['setInterval'] });
    const [keys, closed] = [open(), open()];
    issuer.answerWith(listener);
    await Promise.all([keys.prepare(), closed.prepare()]);
    closed.close();
    const before = issuer.asked.length;
    retry();
    await until(() => issuer.asked.length > before);
    issuer.answerWith(null);
    await until(() => {
      // The answer before may still be under way.
      retry();
      return keys.state().keys === 1 && keys.state().failure === null;
    });
    const after = issuer.asked.length;
    retry();
    await open().prepare();
    expect([issuer.asked.length, closed.state().keys]).toEqual([after + 1, 0]);
  });
});

describe('what the operator is told', () => {
  const FAILED = 'the keys of an issuer could not be fetched';
  const away: RequestListener = (_request, response) => void response.writeHead(503).end();

  test('what is wrong with its reason, once, and that it is over', async () => {
    const lines: unknown[][] = [];
    const line = (...parts: unknown[]): void => void lines.push(parts);
    const keys = open({ log: { info: line, warn: line, error: line } });
    expect(keys.state()).toEqual({ fetchedAt: null, keys: 0, failure: null });
    expect(await keys.prepare()).toBeNull();
    expect([lines, keys.state()]).toEqual([[], { fetchedAt: START, keys: 1, failure: null }]);
    issuer.answerWith(away);
    pass(10_000);
    const failure = { kind: 'unreachable', message: 'it answers with status 503' };
    expect(await keys.prepare()).toEqual(failure);
    expect(keys.state()).toEqual({ fetchedAt: START, keys: 1, failure });
    pass(10_000);
    expect(await keys.prepare()).toEqual(failure);
    issuer.answerWith((_request, response) => void response.end('{}'));
    pass(10_000);
    await keys.prepare();
    issuer.answerWith(null);
    issuer.publish([]);
    pass(10_000);
    await keys.prepare();
    pass(10_000);
    await keys.prepare();
    issuer.publish([first.jwk, second.jwk]);
    pass(10_000);
    await keys.prepare();
    expect(keys.state()).toEqual({ fetchedAt: now, keys: 2, failure: null });
    const about = { issuer: issuer.url };
    expect(lines).toEqual([
      [{ ...about, reason: 'it answers with status 503', error: expect.any(Error) }, FAILED],
      [{ ...about, reason: 'the key set has no list of keys', error: expect.any(Error) }, FAILED],
      [{ ...about, keys: 0 }, 'the keys of an issuer can be fetched again'],
      [about, 'the issuer publishes no key for its algorithms: its tokens are refused'],
    ]);
  });

  test('nobody is asked again within ten seconds, whatever came of it', async () => {
    const keys = open();
    issuer.answerWith(away);
    await keys.prepare();
    const before = issuer.asked.length;
    pass(9_999);
    await Promise.all([keys.prepare(), has(keys, 'k1'), has(keys, 'k2')]);
    expect(issuer.asked.length).toBe(before);
    pass(1);
    await Promise.all([keys.prepare(), has(keys, 'k1'), has(keys, 'k2')]);
    expect(issuer.asked.length).toBe(before + 1);
  });

  test('a key is found by name and algorithm, and not while it is fresh asked for again', async () => {
    const keys = open();
    const found = await keys.find('k1', 'ES256');
    expect(found).toMatchObject({ keyId: 'k1', algorithm: 'ES256' });
    const before = issuer.asked.length;
    expect(await keys.find('k1', 'RS256')).toBeNull();
    pass(5 * MINUTE - 1);
    expect(await keys.find('k1', 'ES256')).toBe(found);
    expect(issuer.asked.length).toBe(before);
    pass(1);
    expect(await keys.find('k1', 'ES256')).toBe(found);
    expect(issuer.asked.length).toBe(before + 1);
  });
});

type Take = (response: IncomingMessage) => void;

describe('discovery', () => {
  const answer =
    (document: object): RequestListener =>
    (request, response) =>
      void response.end(JSON.stringify(request.url === '/jwks' ? { keys: [first.jwk] } : document));

  test('finds the keys where the issuer says', async () => {
    const keys = open({ jwksUrl: null });
    expect([await keys.prepare(), await has(keys, 'k1')]).toEqual([null, true]);
    expect(issuer.asked.slice(-2)).toEqual(['/.well-known/openid-configuration', '/jwks']);
  });

  test('finds them at an issuer whose name ends with a slash, too', async () => {
    const name = `${issuer.url}/`;
    issuer.answerWith(answer({ issuer: name, jwks_uri: `${issuer.url}/jwks` }));
    const keys = open({ issuer: name, jwksUrl: null });
    expect([await keys.prepare(), await has(keys, 'k1')]).toEqual([null, true]);
    expect(issuer.asked.slice(-2)).toEqual(['/.well-known/openid-configuration', '/jwks']);
  });

  test('asks nobody else where the settings say where the keys are', async () => {
    const before = issuer.asked.length;
    await open().prepare();
    expect(issuer.asked.slice(before)).toEqual(['/jwks']);
  });

  test('is in the trace of the request that needs the keys', async () => {
    const heard: unknown[] = [];
    issuer.answerWith((request, response) => {
      heard.push(request.headers['traceparent']);
      const document = { issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, keys: [first.jwk] };
      response.end(JSON.stringify(document));
    });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    expect(await open({ jwksUrl: null }).find('k1', 'ES256', { traceparent })).not.toBeNull();
    expect(heard).toEqual([traceparent, traceparent]);
  });

  test.each<[string, RequestListener, string]>([
    ['is missing', (_request, response) => void response.writeHead(404).end(), 'it answers with status 404'],
    ['is no JSON', (_request, response) => void response.end('<html>'), 'the discovery document is not strict JSON'],
  ])('a document that %s is a failure that may pass', async (_name, listener, message) => {
    issuer.answerWith(listener);
    expect(await open({ jwksUrl: null }).prepare()).toEqual({ kind: 'unreachable', message });
  });

  test.each<[string, (url: string) => object, RegExp]>([
    ['another issuer', (url) => ({ issuer: `${url}/`, jwks_uri: `${url}/jwks` }), /of another issuer/],
    ['no address of keys', (url) => ({ issuer: url }), /has no `jwks_uri`/],
    ['an address in clear text', (url) => ({ issuer: url, jwks_uri: 'http://id.example.org/jwks' }), /`https:/],
    ['an address of the link', (url) => ({ issuer: url, jwks_uri: 'https://169.254.169.254/jwks' }), /leads to/],
    ['an address that is none', (url) => ({ issuer: url, jwks_uri: 'file:///etc/passwd' }), /`https:/],
  ])('a document with %s contradicts the settings', async (_name, documentOf, message) => {
    issuer.answerWith(answer(documentOf(issuer.url)));
    const keys = open({ jwksUrl: null });
    expect(await keys.prepare()).toMatchObject({ kind: 'misconfigured', message: expect.stringMatching(message) });
    expect(await has(keys, 'k1')).toBe(false);
  });

  test('of an issuer on another machine leads nowhere on this one', async () => {
    const name = 'https://id.example.org';
    const errors: unknown[] = [];
    const line = (fields: object): void => void errors.push(fields);
    issuer.answerWith(answer({ issuer: name, jwks_uri: `${issuer.url}/jwks` }));
    // As if the machine of that name had been reached: nobody here has a certificate for it.
    const reached = mock.method(https, 'request', (_url: string, options: RequestOptions, take: Take) =>
      request(`${issuer.url}/.well-known/openid-configuration`, options, take),
    );
    syncBuiltinESMExports();
    const before = issuer.asked.length;
    try {
      const keys = open({ issuer: name, jwksUrl: null, log: { info: line, warn: line, error: line } });
      const message = 'the `jwks_uri` of the discovery document is an address of this machine';
      expect(await keys.prepare()).toEqual({ kind: 'misconfigured', message });
      expect(errors).toMatchObject([{ issuer: name, reason: message, error: { name: 'DiscoveryError' } }]);
    } finally {
      reached.mock.restore();
      syncBuiltinESMExports();
    }
    expect(issuer.asked.slice(before)).toEqual(['/.well-known/openid-configuration']);
  });
});

describe('where an issuer may lead', () => {
  test.each(NEVER_REACHED)('not to %s', async (address) => {
    for (const more of [{ jwksUrl: `https://${address}/jwks` }, { issuer: `https://${address}`, jwksUrl: null }]) {
      expect((await open(more).prepare())?.message).toMatch(/^it leads to an address/);
    }
  });

  test('a redirect to one is not followed', async () => {
    issuer.answerWith((_, response) => response.writeHead(302, { location: 'https://169.254.169.254/' }).end());
    expect((await open().prepare())?.message).toBe('it answers with a redirect, which is not followed');
  });
});

describe('C23 an issuer that wastes time', () => {
  test('50 MB are not read', async () => {
    let sent = 0;
    const keys = open();
    issuer.answerWith((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const more = (): void => {
        while (sent < 50 * 1024 * 1024 && !response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    });
    const before = process.memoryUsage().rss;
    expect(await has(keys, 'k1')).toBe(false);
    expect(keys.state().failure?.message).toBe('it answers with more than 1048576 bytes');
    expect(sent).toBeLessThan(20 * 1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
  });

  test('one that does not answer holds the first token up for three seconds, and no later one', async () => {
    const keys = open();
    await keys.find('k1', 'ES256');
    issuer.answerWith(() => undefined);
    pass(6 * MINUTE);
    const began = performance.now();
    expect(await has(keys, 'k1')).toBe(true);
    // It never answers, and three seconds are waited for it.
    expect(performance.now() - began).toBeLessThan(30_000);
    pass(10_000);
    const again = performance.now();
    expect(await has(keys, 'k1')).toBe(true);
    expect(performance.now() - again).toBeLessThan(2_500);
  });
});
