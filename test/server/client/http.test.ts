// The client on an unreliable network: what is repeated and what is not, how long it waits, whose token goes where, and
// what it says about an answer that is not from a gateway. The test's own `fetch` takes the place of the network.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mock } from 'node:test';
import { inspect } from 'node:util';
import { describe, expect, it, test } from '@jest/globals';
import { connect, type ConnectOptions } from '../../../server/client/index.js';
import { makeClient } from '../../../server/client/client.js';
import { repeating, type Sent } from '../../../server/client/transport.js';
import { whileCollecting } from '../../support/collect-garbage.js';

const ACTOR = { id: 'ada', kind: 'key' };
const LIMITED = {
  type: '/docs/problems#limit.rate',
  title: 'Too many requests',
  status: 429,
  code: 'limit.rate',
  requestId: 'r',
};

type Step = Response | Error | 'hangs';

const ok = (): Response => Response.json(ACTOR);
const refused = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  code: string = LIMITED.code,
): Response =>
  Response.json(
    { ...LIMITED, status, code },
    { status, headers: { ...headers, 'content-type': 'application/problem+json' } },
  );
const unsure = (status: 503 | 504): Response =>
  Response.json(
    { ...LIMITED, status, code: status === 503 ? 'db.unavailable' : 'db.timeout', outcome: 'unknown' },
    { status, headers: { 'content-type': 'application/problem+json' } },
  );
const lost = (): Error => new TypeError('fetch failed');

/** Answers with one step after another, the last again and again. */
function network(...steps: readonly (() => Step)[]): { readonly fetch: typeof fetch; readonly sent: RequestInit[] } {
  const sent: RequestInit[] = [];
  const answering: typeof fetch = (_, init = {}) => {
    const step = steps[Math.min(sent.length, steps.length - 1)]?.() ?? ok();
    sent.push(init);
    if (step === 'hangs') {
      return new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => {
          reject(init.signal?.reason as Error);
        });
      });
    }
    return step instanceof Error ? Promise.reject(step) : Promise.resolve(step);
  };
  return { fetch: answering, sent };
}

function clientOn(steps: readonly (() => Step)[], options: Partial<ConnectOptions> = {}) {
  const { fetch: answering, sent } = network(...steps);
  return { client: connect({ url: 'https://records.example.org', fetch: answering, ...options }), sent };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

describe('a request', () => {
  test.each<[string, readonly (() => Step)[], number]>([
    ['was refused for now', [() => refused(429), () => refused(503), ok], 3],
    ['was lost', [lost, lost, ok], 3],
    ['is still being done', [lost, () => refused(409, {}, 'idempotency.in_progress'), ok], 3],
    ['may have been done', [() => unsure(503), () => unsure(504), ok], 3],
    ['is to be sent after a while', [() => refused(503, { 'retry-after': '0' }), ok], 2],
  ])('that %s is sent again', async (_, steps, times) => {
    const { client, sent } = clientOn(steps);
    expect(await client.whoami()).toEqual(ACTOR);
    expect(sent).toHaveLength(times);
  });

  it('is sent again so often and no more', async () => {
    const { client, sent } = clientOn([() => refused(503)], { retries: 2 });
    expect(await failure(client.count({ family: 'resource', namespace: '/' }))).toMatchObject({ status: 503 });
    expect(sent).toHaveLength(3);
    const never = clientOn([lost], { retries: 0 });
    expect(await failure(never.client.whoami())).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
    expect(never.sent).toHaveLength(1);
  });

  test.each([400, 401, 403, 404, 409, 412, 500, 504])('with the answer %d is not sent again', async (status) => {
    const { client, sent } = clientOn([() => refused(status)]);
    expect(await failure(client.whoami())).toMatchObject({ name: 'ProblemError', status });
    expect(sent).toHaveLength(1);
  });

  it('waits as long as `Retry-After` says, and not at all if that is too long', async () => {
    const { client, sent } = clientOn([() => refused(429, { 'retry-after': '1' }), ok]);
    const begun = performance.now();
    await client.whoami();
    expect(performance.now() - begun).toBeGreaterThan(990);
    expect(sent).toHaveLength(2);
    const long = clientOn([() => refused(429, { 'retry-after': '3600' }), ok]);
    expect(await failure(long.client.whoami())).toMatchObject({ code: 'limit.rate' });
    expect(long.sent).toHaveLength(1);
  });

  it('that is stopped while it waits ends at once with the reason, and is not sent again', async () => {
    const { client, sent } = clientOn([() => refused(429, { 'retry-after': '20' })]);
    const reason = new Error('enough');
    const stopping = new AbortController();
    const failed = failure(client.whoami({ signal: stopping.signal }));
    setTimeout(() => {
      stopping.abort(reason);
    }, 20);
    expect(await failed).toBe(reason);
    expect(sent).toHaveLength(1);
  });

  it('that nobody answers ends after its time', async () => {
    const { client, sent } = clientOn([() => 'hangs'], { timeout: 30 });
    expect(await failure(client.whoami())).toMatchObject({ name: 'TimeoutError' });
    expect(sent).toHaveLength(1);
  });

  it('that nobody answers ends after its time where the caller could stop it, too, whatever the garbage collection', async () => {
    const hanging: typeof fetch = (_, { signal } = {}) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      });
    const { signal } = new AbortController();
    const client = connect({ url: 'https://records.example.org', fetch: hanging, timeout: 300 });
    expect(await whileCollecting(() => failure(client.whoami({ signal })))).toMatchObject({ name: 'TimeoutError' });
  });

  test.each([503, 504] as const)(
    'that changes a record and may have been done is not sent again (%d)',
    async (status) => {
      const { client, sent } = clientOn([() => unsure(status), ok]);
      const error = await failure(client.archive('resource', { id: 'x', revision: 1 }));
      expect(error).toMatchObject({ name: 'ProblemError', status, outcome: 'unknown' });
      expect(sent).toHaveLength(1);
    },
  );

  it('that may have been done is not sent again, and one with a key is, with the same key', async () => {
    const transport = mock.fn((_sent: Sent) => Promise.reject(new TypeError('fetch failed')));
    const twice = repeating(transport, { most: 2, first: 1, longest: 1 });
    const sent = { method: 'PATCH', path: '/x', headers: {}, body: '{}', signal: null };
    await failure(twice({ ...sent, isRepeatable: false }));
    expect(transport.mock.callCount()).toBe(1);
    await failure(twice({ ...sent, isRepeatable: true }));
    expect(transport.mock.callCount()).toBe(4);
    expect(new Set(transport.mock.calls.slice(1).map(({ arguments: [one] }) => one)).size).toBe(1);
  });
});

describe('a token', () => {
  it('is asked for before each request, also before one that is sent again', async () => {
    const tokens = ['first', 'second', 'third'];
    const { client, sent } = clientOn([() => refused(503), ok], { token: () => Promise.resolve(tokens.shift() ?? '') });
    await client.whoami();
    await client.whoami();
    const headers = sent.map((init) => new Headers(init.headers).get('authorization'));
    expect(headers).toEqual(['Bearer first', 'Bearer second', 'Bearer third']);
  });

  it('that takes too long ends the attempt, or the call if that is stopped', async () => {
    const never = (): Promise<string> => new Promise(() => undefined);
    const slow = clientOn([ok], { token: never, timeout: 30 });
    expect(await failure(slow.client.whoami())).toMatchObject({ name: 'TimeoutError' });
    const reason = new Error('enough');
    expect(await failure(slow.client.whoami({ signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(slow.sent).toHaveLength(0);
  });

  test.each(['\n', '\u0000', '\r\nx: ', '…'])(
    'that no header can hold, with %j, is sent to nobody and is in no error',
    async (odd) => {
      const secret = 'bwk_secret-of-the-test';
      const { client, sent } = clientOn([ok], { token: `${secret}${odd}${secret}` });
      const error = await failure(client.whoami());
      expect(error).toMatchObject({ name: 'RangeError' });
      expect(inspect(error)).not.toContain(secret);
      expect(sent).toHaveLength(0);
    },
  );

  it('is sent without the end of the line that it was read from', async () => {
    const { client, sent } = clientOn([ok], { token: 'read-from-a-file\n' });
    await client.whoami();
    expect(new Headers(sent[0]?.headers).get('authorization')).toBe('Bearer read-from-a-file');
  });

  it('is in no error and follows no redirection', async () => {
    const secret = 'bwk_secret-of-the-test';
    const { client } = clientOn([() => refused(401)], { token: secret });
    const error = await failure(client.whoami());
    expect(JSON.stringify(error) + String(error) + String((error as Error).stack)).not.toContain(secret);
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const redirected = connect({ url: `http://127.0.0.1:${String(port)}`, token: secret, retries: 0 });
    const failed = await failure(redirected.whoami());
    server.closeAllConnections();
    server.close();
    expect(failed).toMatchObject({ name: 'TypeError' });
    expect(asked).toEqual(['/api/v1/whoami']);
  });

  test.each([
    'records.example.org',
    'ftp://records.example.org',
    'https://user:password@records.example.org',
    'https://records.example.org/?key=1',
    '',
  ])('has no way to %j', (url) => {
    expect(() => connect({ url })).toThrow(TypeError);
  });
});

describe('an answer', () => {
  test.each<[string, () => Response, RegExp]>([
    [
      'of a proxy',
      () => new Response('<h1>Bad Gateway</h1>', { status: 502 }),
      /status 502: the answer does not come from a gateway/,
    ],
    ['that is cut', () => new Response('{"id":', { headers: { 'content-type': 'application/json' } }), /not JSON/],
    ['that is a page', () => new Response('<p>Sign in', { headers: { 'content-type': 'text/html' } }), /not JSON/],
  ])('%s is an error of its own', async (_, answer, message) => {
    const { client } = clientOn([answer]);
    expect(await failure(client.whoami())).toMatchObject({
      name: 'AnswerError',
      message: expect.stringMatching(message),
    });
  });

  it('to another question is none', async () => {
    const page = { family: 'resource', items: [], page: { size: 1, next: null } };
    const { client } = clientOn([() => Response.json(page)]);
    expect(await failure(client.query({ family: 'namespace', namespace: '/' }))).toMatchObject({ name: 'AnswerError' });
    expect(await failure(client.get('process-run', 'x'))).toMatchObject({ name: 'AnswerError' });
  });

  it('is sent for with a path below the address that was given', async () => {
    const seen: string[] = [];
    const send: typeof fetch = (input) => {
      seen.push(input instanceof Request ? input.url : String(input));
      return Promise.resolve(ok());
    };
    await connect({ url: 'https://example.org/bailiwick/', fetch: send }).whoami();
    expect(seen).toEqual(['https://example.org/bailiwick/api/v1/whoami']);
  });
});

describe('any transport', () => {
  it('is given what stands open in a path encoded', async () => {
    const paths: string[] = [];
    const client = makeClient((sent) => {
      paths.push(sent.path);
      return Promise.resolve({
        status: 200,
        header: () => 'application/json',
        text: '{"family":"namespace"}',
        retryAfter: null,
      });
    });
    await client.get('namespace', '/labs/../x?y#z');
    await client.get('namespace', '/labs/optics.1~a_b-c');
    expect(paths).toEqual(['/api/v1/namespaces/labs/../x%3Fy%23z', '/api/v1/namespaces/labs/optics.1~a_b-c']);
  });
});

describe('an operation that does not exist', () => {
  const misspelt = async (name: unknown): Promise<unknown> => {
    const { client, sent } = clientOn([ok]);
    const refusals = [
      await failure(client.call(name as 'whoami', {})),
      await failure(client.answer(name as 'whoami', {})),
    ];
    expect(sent).toEqual([]);
    expect(refusals[0]).toBeInstanceOf(TypeError);
    expect(String(refusals[1])).toBe(String(refusals[0]));
    return refusals[0];
  };

  test('is refused with the nearest names, and nothing is sent', async () => {
    expect(await misspelt('createResorce')).toMatchObject({
      message:
        'there is no operation `createResorce`; the nearest names are `createResource`, `createResourceTemplate`, `restoreResource`',
    });
    expect(await misspelt('WhoAmI')).toMatchObject({
      message: expect.stringContaining('nearest names are `whoami`, '),
    });
  });

  test.each(['toString', '__proto__', ''])('`%s` is no operation', async (name) => {
    expect(await misspelt(name)).toMatchObject({ message: expect.stringContaining(`no operation \`${name}\``) });
  });

  test.each([null, undefined, 7])('%s is no name', async (name) => {
    expect(await misspelt(name)).toMatchObject({
      message: 'the name of an operation is a string, such as `queryRecords`',
    });
  });
});
