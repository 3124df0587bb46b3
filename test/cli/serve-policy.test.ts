// What a running gateway does with its policy: it follows the path that it was given, and serves what was published where that is asked.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '../support/gateway.js';
import { CLI, runCli } from '../support/run-cli.js';
import { type ServedHere, serveHere, serveThere } from '../support/serve-here.js';
import { type Served, startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

const POLICY = {
  'policy.yaml': 'bailiwick: 1\nname: serve-test\nproviders:\n  orcid: {}\n',
  'grants.yaml': 'grants:\n  - id: ada\n    identity: orcid:ada\n    namespace: /\n    scopes: [namespace:read]\n',
};

let dataDir: string;
let policy: string;

beforeAll(async () => {
  dataDir = await newDataDir();
  policy = await makeFolder(POLICY);
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));

function start(verb: string, ...args: readonly string[]): Promise<Served> {
  return startServing(dataDir, verb, ...args);
}

function bailiwick(...args: readonly string[]): ReturnType<typeof runCli> {
  return runCli([...args, '--data-dir', dataDir]);
}

it('takes over what its folder has become, at once on SIGHUP, and keeps the last good policy', async () => {
  const folder = await makeFolder(POLICY);
  const served = await start('serve', '--policy', folder);
  const key = (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
  const ask = (): ReturnType<typeof call> => call(served.port, { key, body: { family: 'namespace', namespace: '/' } });
  expect((await ask()).status).toBe(200);
  const grants = POLICY['grants.yaml'];
  const become = async (text: string, line: string): Promise<void> => {
    const before = served.stderr().split(line).length;
    await writeFile(`${folder}/grants.yaml`, text);
    served.child.kill('SIGHUP');
    while (served.stderr().split(line).length === before) await sleep(20);
  };
  await become(grants.replace('namespace:read', 'namespace:raed'), 'was refused');
  expect(served.stderr()).toContain('grants.yaml:5:14');
  expect((await bailiwick('status')).stdout).toMatch(/^last error {2}\S+ policy\.invalid: .*: grants\.yaml:5:14: /m);
  expect((await ask()).status).toBe(200);
  await become(grants.replace('namespace:read', 'resource:read'), 'the policy was replaced');
  expect((await bailiwick('status')).stdout).toMatch(/^last error {2}none$/m);
  const denied = await ask();
  expect(denied).toMatchObject({ status: 403, json: { step: 'no_matching_grant' } });
  expect(denied.headers['bailiwick-snapshot']).not.toBe(served.ready['snapshot']);
  // Without being told, too.
  await writeFile(`${folder}/grants.yaml`, grants);
  while ((await ask()).status !== 200) await sleep(100);
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
});

it('goes on through SIGHUP while it still asks its source for the first policy', async () => {
  const compiled = join(await makeFolder(), 's.json');
  await runCli(['compile', policy, '-o', compiled]);
  const bytes = await readFile(compiled);
  const asked: ServerResponse[] = [];
  const server = createServer((_, response) => void asked.push(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const child = spawn(
    process.execPath,
    [
      ...[CLI, 'serve', '--policy-url', `http://127.0.0.1:${String(port)}/s.json`, '--data-dir', dataDir],
      ...['--listen', '127.0.0.1:0', '--admin-listen', 'none', '--format', 'json'],
    ],
    { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [ready, ended] = [once(child.stdout, 'data'), once(child, 'exit')];
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  await once(server, 'request');
  for (const signal of ['SIGHUP', 'SIGUSR1'] as const) child.kill(signal);
  asked[0]?.end(bytes);
  await Promise.race([ready, ended]);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(log).not.toMatch(/Debugger listening/);
  server.closeAllConnections();
  server.close();
});

it('serves what was published only, where a signature is required', async () => {
  const folder = await makeFolder();
  const at = (name: string): string => `${folder}/${name}`;
  await runCli(['compile', policy, '-o', at('s.json')]);
  await runCli(['keygen', '-o', at('release.key')]);
  const made = await runCli([
    'sign',
    at('s.json'),
    '--key',
    at('release.key'),
    '--environment',
    'test',
    '--generation',
    '1',
    '--expires',
    '2999-01-01T00:00:00Z',
  ]);
  expect(made.status).toBe(0);
  const publicKey = (await readFile(at('release.key.pub'), 'utf8')).split('\n')[1] ?? '';
  await writeFile(at('keyring.yaml'), `threshold: 1\nkeys:\n  - { name: release, publicKey: ${publicKey} }\n`);
  const required = ['--require-signature', '--keyring', at('keyring.yaml'), '--environment'];
  const served = await serveHere(dataDir, 'serve', '--policy', at('s.json'), ...required, 'test');
  expect(await served.stop()).toBe(0);

  const wrong = await bailiwick('serve', '--policy', at('s.json'), ...required, 'production');
  expect(wrong).toMatchObject({ status: 6, stderr: expect.stringContaining('is not served') });
  const unsigned = await bailiwick('serve', '--policy', policy, ...required, 'test');
  expect(unsigned).toMatchObject({ status: 2, stderr: expect.stringContaining('is a folder') });
  await rm(at('s.json.dsse.json'));
  const missing = await bailiwick('serve', '--policy', at('s.json'), ...required, 'test');
  expect(missing).toMatchObject({ status: 8, stderr: expect.stringContaining('there is not a signed statement') });
  // A snapshot from before, with its own genuine signature, does not come back by a restart.
  const older = await makeFolder({ ...POLICY, 'grants.yaml': POLICY['grants.yaml'].replace('ada', 'ben') });
  await runCli(['compile', older, '-o', at('old.json')]);
  await runCli([
    'sign',
    at('old.json'),
    '--key',
    at('release.key'),
    '--environment',
    'test',
    '--generation',
    '1',
    '--expires',
    '2999-01-01T00:00:00Z',
  ]);
  const quiet = ['--listen', '127.0.0.1:0', '--admin-listen', 'none'];
  const back = await bailiwick('serve', '--policy', at('old.json'), ...quiet, ...required, 'test');
  expect(back).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('generation 1 is not later than 1, which was accepted before'),
  });
  const half = await bailiwick('serve', '--policy', at('s.json'), '--require-signature');
  expect(half).toMatchObject({ status: 2, stderr: expect.stringContaining('needs `snapshot.keyringFile`') });
});

it('follows a directory store: what is published there is served within a look, and what is not stays out', async () => {
  const folder = await makeFolder(POLICY);
  const at = (name: string): string => `${folder}/${name}`;
  const compileAs = async (name: string, scope: string): Promise<void> => {
    await writeFile(at('grants.yaml'), POLICY['grants.yaml'].replace('namespace:read', scope));
    expect((await runCli(['compile', folder, '-o', at(name)])).status).toBe(0);
  };
  const publish = (name: string): ReturnType<typeof runCli> => runCli(['publish', at(name), '--to', at('store')]);
  const none = await runCli(['serve', '--policy-directory', at('store'), '--data-dir', await newDataDir()]);
  expect(none).toMatchObject({ status: 10, stderr: expect.stringContaining('there is no such directory') });
  await compileAs('.one.json', 'namespace:read');
  await compileAs('.two.json', 'resource:read');
  expect((await publish('.one.json')).status).toBe(0);
  const served = await serveHere(dataDir, 'serve', '--policy-directory', at('store'));
  const key = (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
  const ask = (): ReturnType<typeof call> => call(served.port, { key, body: { family: 'namespace', namespace: '/' } });
  expect((await ask()).status).toBe(200);
  expect((await publish('.two.json')).status).toBe(0);
  while ((await ask()).status !== 403) await sleep(100);
  expect((await bailiwick('status')).stdout).toContain(`source      directory ${at('store')}`);
  expect(await served.stop()).toBe(0);
});

it.each([[[]], [['--workers', '2']]])(
  'decides by nothing that is too old after a restart without its source, either: %j',
  async (workers) => {
    const folder = await makeFolder();
    const at = (name: string): string => `${folder}/${name}`;
    await writeFile(at('bailiwick.yaml'), 'snapshot: { poll: 1s, hardAge: 5s }\n');
    expect((await runCli(['compile', policy, '-o', at('s.json')])).status).toBe(0);
    expect((await runCli(['publish', at('s.json'), '--to', at('store')])).status).toBe(0);
    const flags = ['--policy-directory', at('store'), '--config', at('bailiwick.yaml'), ...workers];
    const key = (await bailiwick('keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada')).stdout.trim();
    const ask = async ({ port }: Pick<ServedHere, 'port'>): Promise<unknown> => {
      const { status, json } = await call(port, { key, body: { family: 'namespace', namespace: '/' } });
      return status === 200 ? status : json?.['code'];
    };
    const begin = (): Promise<ServedHere> =>
      (workers.length === 0 ? serveHere : serveThere)(dataDir, 'serve', ...flags);
    const first = await begin();
    expect(await ask(first)).toBe(200);
    await rename(at('store'), at('away'));
    while ((await ask(first)) !== 'snapshot.expired') await sleep(100);
    expect(await first.stop()).toBe(0);
    const second = await begin();
    expect(await ask(second)).toBe('snapshot.expired');
    await rename(at('away'), at('store'));
    while ((await ask(second)) !== 200) await sleep(100);
    expect(await second.stop()).toBe(0);
  },
);
