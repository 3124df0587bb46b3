// A gateway over whose installation another version is installed, as `npm ci` does, goes on with what it is.
import { expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { EXIT } from '../../server/cli/exit.js';
import { storeFailure } from '../../server/cli/open-store.js';
import { StoreError } from '../../server/db/failures.js';
import { readLock } from '../../server/lib/owner-lock.js';
import { call } from '../support/gateway.js';
import { fromRoot } from '../support/root.js';
import { runCli } from '../support/run-cli.js';
import { startServingFrom } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { until } from '../support/until.js';

const GRANTS = "grants:\n  - { id: ada, identity: orcid:ada, namespace: /, scopes: ['*:read', '*:write'] }\n";
const POLICY = { 'policy.yaml': 'bailiwick: 1\nname: replaced\nproviders:\n  orcid: {}\n', 'grants.yaml': GRANTS };

/** A copy of this installation. `loaded` is a file that is there once RE2 was loaded from it. */
async function install(): Promise<{ readonly at: string; readonly loaded: string }> {
  const at = await makeFolder();
  const modules = join(at, 'node_modules');
  for (const folder of [modules, join(at, 'dist')]) mkdirSync(folder);
  for (const name of readdirSync(fromRoot('node_modules')))
    if (name !== 're2js') symlinkSync(fromRoot(`node_modules/${name}`), join(modules, name));
  const copied = [
    ['package.json', at],
    ['dist/engine', join(at, 'dist')],
    ['dist/server', join(at, 'dist')],
    ['node_modules/re2js', modules],
  ] as const;
  for (const [from, to] of copied) execFileSync('cp', ['-R', fromRoot(from), to]);
  const loaded = join(at, 'loaded');
  appendFileSync(
    join(modules, 're2js/build/index.cjs'),
    `\nrequire('node:fs').writeFileSync(${JSON.stringify(loaded)}, '');\n`,
  );
  return { at, loaded };
}

/** As an installation of another version leaves it. */
function stateVersion(at: string, version: string): string {
  const manifest = join(at, 'package.json');
  const { version: before, ...rest } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  writeFileSync(manifest, JSON.stringify({ ...rest, version }));
  return before;
}

it('does not open the embedded store again with the code of the other version, which may do so', async () => {
  const [{ at }, dataDir, policy] = [await install(), await newDataDir(), await makeFolder(POLICY)];
  const served = await startServingFrom(join(at, 'dist/server/bin/bailiwick.js'), dataDir, 'serve', '--policy', policy);
  const ready = async (): Promise<number> => (await call(served.port, { method: 'GET', path: '/readyz' })).status;
  expect(await ready()).toBe(200);
  const version = stateVersion(at, '99.0.0');
  const held = readLock(join(dataDir, 'store.lock'));
  if (held.kind !== 'held') throw new Error('the gateway owns its store');
  rmSync(held.record.socketDir, { recursive: true });
  await until(() => served.stderr().includes(`version 99.0.0 was installed over version ${version}, which still runs`));
  expect(served.stderr()).toContain('"code":"store.replaced"');
  // Readiness asks the store once in a while.
  await until(async () => (await ready()) === 503, 'the store to be missed');
  // Another process owns it meanwhile.
  const other = await runCli(['keys', 'list', '--data-dir', dataDir]);
  expect([other.status, other.stdout]).toEqual([0, expect.stringContaining('no keys')]);
  stateVersion(at, version);
  await until(async () => (await ready()) === 200, 'the store to be back');
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
}, 60_000);

it('is mended by a new process, which a supervisor may start', async () => {
  const failure = await storeFailure(new StoreError('store.replaced', 'another version'));
  expect(failure).toMatchObject({ status: 10, code: 'store.replaced' });
});

it('answers what it has not needed before, and starts no thread of the other version', async () => {
  const [{ at, loaded }, dataDir, policy] = [await install(), await newDataDir(), await makeFolder(POLICY)];
  const served = await startServingFrom(join(at, 'dist/server/bin/bailiwick.js'), dataDir, 'serve', '--policy', policy);
  const made = await runCli(['keys', 'create', '--actor', 'ada', '--identity', 'orcid:ada', '--data-dir', dataDir]);
  const key = made.stdout.trim();
  await call(served.port, { method: 'PUT', path: '/api/v1/namespaces/a', key, body: {} });
  await until(() => existsSync(loaded), 'the rest to be loaded');

  const version = stateVersion(at, '99.0.0');
  writeFileSync(join(policy, 'grants.yaml'), GRANTS.replace('id: ada', 'id: bob'));
  served.child.kill('SIGHUP');
  await until(() => served.stderr().includes(`version 99.0.0 was installed over version ${version}, which still runs`));

  rmSync(at, { recursive: true });
  const template = {
    namespace: '/a',
    name: 'sample',
    version: '1',
    schema: { properties: { a: { pattern: '^a+$' } } },
  };
  const headers = { 'Idempotency-Key': 'sample' };
  const asked = { path: '/api/v1/resource-templates', headers, key, body: template };
  // What takes longer than a few milliseconds, as the first time may, is left to a thread, and none starts.
  await until(async () => (await call(served.port, asked)).status === 201, 'the pattern to be judged');
  served.child.kill('SIGTERM');
  expect(await served.ended).toBe(0);
}, 60_000);

it('ends where a part that reports failures is not there, and serves nobody', async () => {
  const [{ at }, dataDir, policy] = [await install(), await newDataDir(), await makeFolder(POLICY)];
  const bin = join(at, 'dist/server/bin');
  for (const name of readdirSync(bin)) if (name.startsWith('show-failure-')) rmSync(join(bin, name));
  const started = startServingFrom(join(bin, 'bailiwick.js'), dataDir, 'serve', '--policy', policy);
  await expect(started).rejects.toThrow(/^ended with 1: .*Cannot find module .*show-failure-/s);
}, 60_000);

it('says why it ends, and ends with the same status, when nothing of it is on the disk any more', async () => {
  const [{ at, loaded }, dataDir, policy] = [await install(), await newDataDir(), await makeFolder(POLICY)];
  const served = await startServingFrom(join(at, 'dist/server/bin/bailiwick.js'), dataDir, 'serve', '--policy', policy);
  await until(() => existsSync(loaded), 'the rest to be loaded');
  rmSync(at, { recursive: true });
  const audit = join(dataDir, 'audit');
  const [lock = ''] = readdirSync(audit).filter((name) => name.endsWith('.lock'));
  copyFileSync(join(audit, lock, '1'), join(audit, lock, '2'));
  expect(await served.ended).toBe(EXIT.away);
  expect(served.stderr()).toContain('"code":"audit.taken","message":"another process has taken over the audit log');
}, 60_000);
