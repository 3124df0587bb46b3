// `can-i` asks a gateway with the caller's own credential: yes is 0, no is 7, and nothing of the credential is said.
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { openGateway, type TestGateway } from '../support/gateway.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

let open: TestGateway;
let cwd: string;
let key: string;

beforeAll(async () => {
  open = await openGateway();
  key = (await open.key()).text;
  cwd = await makeFolder({
    'key.txt': `${key}\n`,
    'wrong.txt': 'bwk_canary-wrong',
    'two.txt': `${key}\n${key}\n`,
    'empty.txt': '',
  });
});

afterAll(async () => {
  await open.dispose();
});

async function canI(...args: readonly string[]): Promise<CliRun> {
  const ran = await runCli(['can-i', ...args], { cwd });
  for (const secret of [key, 'canary-wrong']) expect(ran.stdout + ran.stderr).not.toContain(secret);
  return ran;
}

const at = (): readonly string[] => ['--url', open.gateway.url, '--key-file', 'key.txt'];

describe('the answer', () => {
  it('is yes and 0, with the grants', async () => {
    expect(await canI('resource:read', '/labs/', ...at())).toEqual({
      status: 0,
      stdout: 'yes: resource:read /labs, by g1\n',
      stderr: '',
    });
  });

  it('may come with a key from a pipe, as the shell makes one of `<(…)`', async () => {
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    const asked = canI('resource:read', '/labs', '--url', open.gateway.url, '--key-file', 'pipe');
    await writeFile(join(cwd, 'pipe'), `${key}\n`);
    expect((await asked).status).toBe(0);
    const long = canI('resource:read', '/labs', '--url', open.gateway.url, '--key-file', 'pipe');
    await writeFile(join(cwd, 'pipe'), 'x'.repeat(1_000_000)).catch(() => undefined);
    expect((await long).status).toBe(2);
  });

  it('is no and 7', async () => {
    expect(await canI('resource:write', '/labs', ...at())).toEqual({
      status: 7,
      stdout: 'no: resource:write /labs\n',
      stderr: '',
    });
  });

  it('is one object in JSON', async () => {
    const { status, stdout } = await canI('resource:write', '/labs', ...at(), '--format', 'json');
    expect([status, JSON.parse(stdout)]).toEqual([
      7,
      {
        decision: 'deny',
        scope: 'resource:write',
        namespace: '/labs',
        grants: [],
        snapshot: open.gateway.policies.current().policy.digest,
      },
    ]);
  });

  it('may be asked for with a credential on stdin', async () => {
    const ran = await runCli(['can-i', 'resource:read', '/', '--url', open.gateway.url, '--key-file', '-'], {
      stdin: key,
    });
    expect(ran.status).toBe(0);
  });
});

test.each<[string, readonly string[], RegExp]>([
  ['a scope that does not exist', ['resource:delete', '/'], /is not a scope; did you mean|is not a scope/],
  ['a pattern of scopes', ['resource:*', '/'], /is not a scope/],
  ['a namespace that is none', ['resource:read', '/Labs'], /`\/Labs` is not the path of a namespace/],
])('%s is wrong usage', async (_name, args, message) => {
  const { status, stderr } = await canI(...args, ...at());
  expect([status, stderr]).toEqual([2, expect.stringMatching(message)]);
});

test.each<[string, readonly string[], number, RegExp]>([
  ['no file', ['--key-file', 'nowhere.txt'], 2, /`nowhere.txt` does not exist/],
  ['two keys', ['--key-file', 'two.txt'], 2, /must hold one API key or token/],
  ['an empty file', ['--key-file', 'empty.txt'], 2, /must hold one API key or token/],
  ['a folder', ['--key-file', '.'], 2, /is not a regular file/],
  ['a wrong key', ['--key-file', 'wrong.txt'], 6, /answers 401 auth.invalid/],
  [
    'clear text on a network',
    ['--url', 'http://gateway.example.org', '--key-file', 'key.txt'],
    2,
    /`--url` must begin with `https/,
  ],
  ['nobody there', ['--url', 'http://127.0.0.1:1', '--key-file', 'key.txt'], 6, /cannot be reached/],
])('%s ends with what to do', async (_name, args, expected, message) => {
  const { status, stdout, stderr } = await canI('resource:read', '/', '--url', open.gateway.url, ...args);
  expect([status, stdout, stderr]).toEqual([expected, '', expect.stringMatching(message)]);
});

describe('something else that answers', () => {
  let server: Server;
  let listener: RequestListener;
  let asked: (string | undefined)[];

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.headers.authorization);
      listener(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(() => {
    server.close();
  });

  test.each<[string, RequestListener]>([
    ['a page', (_request, response) => void response.end('<html>')],
    ['other JSON', (_request, response) => void response.end('{"scopes":[{"scope":"resource:read"}]}')],
    ['a redirection', (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end()],
    ['words for a terminal', (_request, response) => void response.writeHead(500).end('{"code":"\\u001b[2J"}')],
  ])('%s is no answer', async (_name, answer) => {
    asked = [];
    listener = answer;
    const { port } = server.address() as AddressInfo;
    const ran = await canI('resource:read', '/', '--url', `http://127.0.0.1:${String(port)}`, '--key-file', 'key.txt');
    expect([ran.status, ran.stdout]).toEqual([6, '']);
    expect(ran.stderr).not.toContain('\u001b');
    // Whoever redirects gets the credential once, and nobody gets it from there.
    expect(asked).toHaveLength(1);
  });
});
