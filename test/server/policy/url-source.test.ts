// A snapshot at an address: fetched when it has changed and not otherwise, and whatever the server, the network or whoever stands between
// them does, the policy in force stays until something whole arrives.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { faultOfRefusal } from '../../../server/policy/policy-fault.js';
import { makeUrlSource, type UrlSourceOptions } from '../../../server/policy/sources/url-source.js';
import { ageOf } from '../../../server/policy/active/staleness.js';
import { type Issued, issue, makeAuthority } from '../../support/certificates.js';
import { collectGarbage } from '../../support/collect-garbage.js';
import { A, B, follow, type Followed, HOUR, NOON } from '../../support/followed-policy.js';
import { type Misbehave, type PolicyServer, startPolicyServer } from '../../support/policy-server.js';
import { makeSigner, ruleIn, signedBy, statementOf } from '../../support/publisher.js';
import { makeFolder } from '../../support/temp-folder.js';
import { instantOf } from '../../../engine/index.js';
import { until } from '../../support/until.js';

const PATH = '/policies/snapshot.json';
let server: PolicyServer;

beforeAll(async () => {
  server = await startPolicyServer();
});
afterEach(() => {
  server.misbehave(null);
});
afterAll(() => server.stop());

const address = (port = server.port): string => `http://127.0.0.1:${String(port)}${PATH}`;

async function followed(options: Partial<UrlSourceOptions> = {}, more: object = {}): Promise<Followed> {
  server.put(PATH, A.bytes);
  const source = makeUrlSource({ url: address(), caFile: null, reach: 'public', statements: 'ignored', ...options });
  const found = await follow({ source, ...more });
  expect(await found.look()).toEqual([A.policy.digest, null]);
  server.asked();
  return found;
}

describe('a snapshot at an address', () => {
  it('is fetched when it has changed; else "not modified" confirms that it is still the one to serve', async () => {
    const { policies, advance, lines } = await followed({}, { interval: 20 });
    advance(HOUR);
    await until(() => ageOf(policies.state(), instantOf(NOON + HOUR)) < HOUR / 2);
    expect(new Set(server.asked())).toEqual(new Set([`${PATH} 304`]));
    server.put(PATH, B.bytes);
    await until(() => policies.current().policy.digest === B.policy.digest);
    expect(policies.current().source).toEqual({ kind: 'url', url: address() });
    expect(server.asked().filter((one) => one.endsWith('200'))).toHaveLength(1);
    server.misbehave((_, response) => response.writeHead(503).end());
    await until(() => policies.state().refusal !== null);
    await sleep(100);
    server.misbehave(null);
    await until(() => policies.state().refusal === null);
    expect(lines.map(({ message }) => message)).toEqual([
      'the policy was replaced',
      'the source of the policy cannot be read, and the policy in force stays',
      'the source of the policy can be read again',
    ]);
  });

  it('is the same where only a server without ETags says so again', async () => {
    const { look, policies } = await followed();
    server.misbehave((_, response) => response.end(A.bytes));
    expect(await look()).toEqual([A.policy.digest, null]);
    expect(policies.current().generation).toBe(1);
  });

  it('may be published in either order: the statement first, or the snapshot', async () => {
    const ana = makeSigner();
    const rule = ruleIn(await makeFolder(), [ana]);
    const beside = `${PATH}.dsse.json`;
    const statement = { says: statementOf(A), envelope: signedBy(statementOf(A), [ana]) };
    server.put(beside, Buffer.from(statement.envelope));
    const { policies, look } = await followed({ statements: 'required' }, { rule, statement, interval: 20 });
    const untilServed = (digest: string, code: string | null): Promise<void> =>
      until(
        () => policies.current().policy.digest === digest && (policies.state().refusal?.code ?? null) === code,
        `the digest ${digest} and the refusal ${String(code)}`,
      );
    server.put(beside, Buffer.from(signedBy(statementOf(B, { generation: 8 }), [ana])));
    await untilServed(A.policy.digest, 'statement.subject');
    server.put(PATH, B.bytes);
    await untilServed(B.policy.digest, null);
    server.put(PATH, A.bytes);
    await untilServed(B.policy.digest, 'statement.subject');
    server.put(beside, Buffer.from(signedBy(statementOf(A, { generation: 9 }), [ana])));
    await untilServed(A.policy.digest, null);
    server.put(beside, null);
    await untilServed(A.policy.digest, 'signature.missing');
    // Signed again: the snapshot alone says "not modified" then.
    server.put(beside, Buffer.from(signedBy(statementOf(A, { generation: 10 }), [ana])));
    await untilServed(A.policy.digest, null);
    expect(policies.current().statement?.generation).toBe(10);
    expect(await look()).toEqual([A.policy.digest, null]);
  });

  const endless: Misbehave = (_, response) => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    const more = (): void => {
      if (!response.destroyed) response.write(chunk, more);
    };
    more();
  };
  const drip: Misbehave = (_, response) => {
    response.writeHead(200, { 'Content-Length': B.bytes.length });
    const timer = setInterval(() => response.write(' '), 20);
    // It must not lift the limit.
    const collecting = setTimeout(collectGarbage, 100);
    response.once('close', () => {
      clearInterval(timer);
      clearTimeout(collecting);
    });
  };
  it.each<readonly [string, Misbehave, string]>([
    [
      'endless data: more is announced than a snapshot can have',
      (_, r) => {
        r.writeHead(200, { 'Content-Length': 5 * 1024 ** 3 }).flushHeaders();
      },
      'more than',
    ],
    ['endless data: it does not end', endless, 'more than'],
    ['slow retrieval: nothing comes', () => undefined, 'in time'],
    ['slow retrieval: it comes byte by byte', drip, 'in time'],
    [
      'less than was announced',
      (_, r) => void r.writeHead(200, { 'Content-Length': 9999 }).write('{', () => r.destroy()),
      'did not finish',
    ],
    ['a redirection', (_, r) => r.writeHead(302, { Location: 'http://169.254.169.254/' }).end(), 'redirect'],
    ['compressed data', (_, r) => r.writeHead(200, { 'Content-Encoding': 'gzip' }).end('x'), 'compressed'],
    ['a part of it', (_, r) => r.writeHead(206).end(B.bytes.subarray(0, 100)), 'status 206'],
    ['"not modified" that nobody asked for', (_, r) => r.writeHead(304).end(), 'status 304'],
    ['an error', (_, r) => r.writeHead(500).end(B.bytes), 'status 500'],
    ['no HTTP', (request) => request.socket.end('hello\r\n'), 'cannot be reached'],
  ])('stays out: %s', async (_, how, words) => {
    const { look, policies } = await followed({ timeout: 1_000, maxBytes: 8 * 1024 ** 2 });
    const before = process.memoryUsage().rss;
    server.misbehave(how);
    const start = performance.now();
    expect(await look()).toEqual([A.policy.digest, 'source.unreachable']);
    expect(policies.state().refusal?.message).toContain(words);
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 ** 2);
    server.misbehave(null);
    server.put(PATH, B.bytes);
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('stays out where it is gone, and where it is no snapshot', async () => {
    const { look } = await followed();
    server.put(PATH, null);
    expect(await look()).toEqual([A.policy.digest, 'source.missing']);
    server.put(PATH, Buffer.from('<html>'));
    expect((await look())[0]).toBe(A.policy.digest);
    server.put(PATH, B.bytes.subarray(0, -1));
    expect((await look())[0]).toBe(A.policy.digest);
  });
});

describe('a server that hangs', () => {
  it('is given up after some silence; one that is slow is not', async () => {
    const { look, policies } = await followed({ silence: 400 });
    server.misbehave(() => undefined);
    const start = performance.now();
    expect(await look()).toEqual([A.policy.digest, 'source.unreachable']);
    expect(policies.state().refusal?.message).toBe('the address did not answer in time');
    server.misbehave((_, response) => void response.writeHead(200, { 'Content-Length': 9999 }).write('{'));
    expect(await look()).toEqual([A.policy.digest, 'source.unreachable']);
    expect(performance.now() - start).toBeLessThan(10_000);
    const step = Math.ceil(B.bytes.length / 12);
    server.misbehave((_, response) => {
      response.writeHead(200, { 'Content-Length': B.bytes.length });
      let from = 0;
      const timer = setInterval(() => {
        response.write(B.bytes.subarray(from, from + step));
        from += step;
        if (from >= B.bytes.length) clearInterval(timer);
      }, 100);
    });
    expect(await look()).toEqual([B.policy.digest, null]);
  });

  it('is asked again at once by a hurried look, and says nothing about itself until then', async () => {
    const { watch, policies, lines } = await followed();
    server.misbehave(() => undefined);
    const hanging = watch.pollNow();
    await sleep(200);
    server.misbehave(null);
    server.put(PATH, B.bytes);
    const start = performance.now();
    await watch.pollNow();
    await hanging;
    expect(performance.now() - start).toBeLessThan(5_000);
    expect(policies.current().policy.digest).toBe(B.policy.digest);
    expect(lines.map(({ message }) => message)).toEqual(['the policy was replaced']);
  });

  it('does not delay what the log says about the age of the policy', async () => {
    const ages = { softAge: HOUR, hardAge: 2 * HOUR };
    const { watch, age, advance, lines } = await followed({}, { ages });
    server.misbehave(() => undefined);
    const hanging = watch.pollNow();
    advance(3 * HOUR);
    await age.pollNow();
    expect(lines.map(({ message }) => message)).toEqual([
      'the policy is older than `snapshot.hardAge`: nothing is decided by it any more',
    ]);
    server.misbehave(null);
    await Promise.all([watch.pollNow(), hanging]);
    await age.pollNow();
    expect(lines.at(-1)?.message).toBe('the policy is fresh again');
  });
});

describe('where an address may lead', () => {
  const reached = (url: string, more: Partial<UrlSourceOptions> = {}): Promise<string> =>
    makeUrlSource({ url, caFile: null, reach: 'public', statements: 'ignored', timeout: 300, ...more })
      .look('poll', new AbortController().signal)
      .then(
        ({ kind }) => kind,
        (error: unknown) => faultOfRefusal(error).message,
      );

  it.each([
    'https://169.254.169.254/',
    'https://[::ffff:169.254.169.254]/',
    'https://[fe80::1]/',
    'https://[fd00:ec2::254]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://0.0.0.0/',
    'https://0/',
    'https://[::]/',
    'https://224.0.0.1/',
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://192.168.1.1/',
    'https://3232235777/',
    'https://0xc0.0xa8.1.1/',
    'https://[fd00::1]/',
    'https://[::ffff:10.0.0.1]/',
  ])('is refused without a connection: %s', async (url) => {
    expect(await reached(url)).toMatch(/^the address leads to /);
  });

  it('includes private networks where that is set, and nothing of the link even then', async () => {
    const open = { reach: 'private' } as const;
    expect(await reached('https://192.0.2.1/', open)).toMatch(/leads to an address/);
    expect(await reached('https://169.254.169.254/', open)).toMatch(/leads to an address/);
    expect(await reached('https://10.255.255.1/', open)).not.toMatch(/leads to/);
  });

  it.each(['file:///etc/passwd', 'http://10.0.0.1/', 'http://example.org/', 'https://user:password@example.org/'])(
    'is not asked at all: %s',
    async (url) => {
      expect(await reached(url)).toMatch(/^the address the address must/);
    },
  );
});

describe('a server with a certificate', () => {
  let folder: string;
  let authority: Issued;
  let tls: PolicyServer;
  beforeAll(async () => {
    folder = await makeFolder();
    authority = await makeAuthority(folder);
    const { certFile, keyFile } = await issue(folder, 'server', { authority });
    tls = await startPolicyServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    tls.put(PATH, A.bytes);
  });
  afterAll(() => tls.stop());

  it('is believed by who vouches for it, under its own name, and by nobody else', async () => {
    const look = async (url: string, caFile: string | null): Promise<string> => {
      const source = makeUrlSource({ url, caFile, reach: 'public', statements: 'ignored' });
      return source.look('poll', new AbortController().signal).then(
        ({ kind }) => kind,
        (error: unknown) => {
          const { code, message } = faultOfRefusal(error);
          return `${code}: ${message}`;
        },
      );
    };
    const at = (host: string): string => `https://${host}:${String(tls.port)}${PATH}`;
    expect(await look(at('127.0.0.1'), authority.certFile)).toBe('offer');
    expect(await look(at('localhost'), authority.certFile)).toBe('offer');
    expect(await look(at('127.0.0.1'), null)).toBe('source.unreachable: the address cannot be reached');
    expect(await look(at('127.0.0.2'), authority.certFile)).toBe('source.unreachable: the address cannot be reached');
    const other = await makeAuthority(folder, 'other');
    expect(await look(at('127.0.0.1'), other.certFile)).toBe('source.unreachable: the address cannot be reached');
    expect(await look(at('127.0.0.1'), join(folder, 'none.crt'))).toMatch(/^source\.unreadable: .* does not exist$/);
    await copyFile(authority.certFile, other.certFile);
    expect(await look(at('127.0.0.1'), other.certFile)).toBe('offer');
  });
});
