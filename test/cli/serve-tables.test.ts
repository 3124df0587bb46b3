// A restart of a gateway with a large snapshot: it opens the table that it kept, unless somebody has changed the file.
import { describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFile } from '../../server/policy/open/table-file.js';
import { snapshotPath } from '../../server/policy/sources/directory-store.js';
import { call, snapshotOf, type TestGrant } from '../support/gateway.js';
import { makeRepository } from '../support/git-repository.js';
import { runCli } from '../support/run-cli.js';
import { startPolicyServer } from '../support/policy-server.js';
import { serveHere, serveThere } from '../support/serve-here.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';

/** Enough that the table is large enough to be kept. */
const GRANTS = 10_000;
const LARGE = snapshotOf(
  Array.from({ length: GRANTS }, (_, i): TestGrant => [
    { provider: 'orcid', subject: `p${String(i)}` },
    `/n${String(i)}`,
    ['resource:read'],
  ]),
);

const OPENED = 'the policy was opened from its kept table';

const SMALL = snapshotOf([[{ provider: 'orcid', subject: 'p7' }, '/n7', ['resource:write']]]);

it('opens the table that it kept, with workers too, and the snapshot if the file was changed', async () => {
  const dataDir = await newDataDir();
  const path = join(await makeFolder(), 'snapshot.json');
  writeFileSync(path, LARGE.bytes);
  const file = tableFile(join(dataDir, 'tables'), LARGE.policy.digest);
  let key: string | null = null;
  const start = async (...flags: readonly string[]): Promise<string> => {
    const served = await (flags.length === 0 ? serveHere : serveThere)(dataDir, 'serve', '--policy', path, ...flags);
    expect(served.ready['snapshot']).toBe(LARGE.policy.digest);
    key ??= (
      await runCli(['keys', 'create', '--data-dir', dataDir, '--actor', 'p7', '--identity', 'orcid:p7'])
    ).stdout.trim();
    const statuses: number[] = [];
    for (const namespace of ['/n7', '/n8']) {
      const { status } = await call(served.port, { key, body: { family: 'resource', namespace } });
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 403]);
    expect(await served.stop()).toBe(0);
    return served.stderr();
  };
  expect(await start()).not.toContain(OPENED);
  expect(existsSync(file)).toBe(true);
  expect(await start()).toContain(OPENED);
  expect((await start('--workers', '2')).split(OPENED)).toHaveLength(4);
  const good = readFileSync(file);
  const bad = Buffer.from(good);
  bad[5000] = (bad[5000] ?? 0) ^ 1;
  writeFileSync(file, bad);
  expect(await start()).toContain('a kept table was not used');
  expect(readFileSync(file).equals(good)).toBe(true);
  await rm(dataDir, { recursive: true, force: true });
});

describe('a policy that was published', () => {
  it('in a directory is opened from its table, and what is put in its place is not served', async () => {
    const [dataDir, folder] = [await newDataDir(), await makeFolder()];
    const [directory, path] = [join(folder, 'store'), join(folder, 'snapshot.json')];
    writeFileSync(path, LARGE.bytes);
    expect((await runCli(['publish', path, '--to', directory])).status).toBe(0);
    const start = (): Promise<string> => startOnce(dataDir, '--policy-directory', directory);
    expect(await start()).not.toContain(OPENED);
    expect(await start()).toContain(OPENED);
    writeFileSync(snapshotPath(directory, LARGE.policy.digest), SMALL.bytes);
    const log = await start();
    expect(log).toContain('the source offers nothing that can be served');
    // It is in force, and comes from the store now.
    expect(log).toContain(OPENED);
  });

  it('at an address is opened from its table', async () => {
    const [dataDir, server] = [await newDataDir(), await startPolicyServer()];
    server.put('/snapshot.json', LARGE.bytes);
    const url = `http://127.0.0.1:${String(server.port)}/snapshot.json`;
    const start = (): Promise<string> => startOnce(dataDir, '--policy-url', url);
    expect(await start()).not.toContain(OPENED);
    expect(await start()).toContain(OPENED);
    await server.stop();
  });

  it('in a repository is opened from its table, and a damaged table from the snapshot', async () => {
    const [dataDir, cwd, repository] = [await newDataDir(), await makeFolder(), await makeRepository()];
    repository.commit({ 'snapshot.json': LARGE.bytes });
    const settings = join(cwd, 'bailiwick.yaml');
    writeFileSync(settings, JSON.stringify({ snapshot: { source: { git: repository.path, path: 'snapshot.json' } } }));
    const start = (): Promise<string> => startOnce(dataDir, '--config', settings);
    expect(await start()).not.toContain(OPENED);
    expect(await start()).toContain(OPENED);
    writeFileSync(tableFile(join(dataDir, 'tables'), LARGE.policy.digest), 'damaged');
    const log = await start();
    expect(log).toContain('a kept table was not used');
    expect(log).not.toContain('the source offers nothing that can be served');
    expect(await start()).toContain(OPENED);
    // It is in force last, and the source is gone.
    rmSync(join(repository.path, '.git'), { recursive: true });
    expect(await start()).toContain('the source offers nothing that can be served');
  });
});

/** A gateway that serves the large policy once: what it logged. */
async function startOnce(dataDir: string, ...flags: readonly string[]): Promise<string> {
  const served = await serveHere(dataDir, 'serve', ...flags);
  expect(served.ready['snapshot']).toBe(LARGE.policy.digest);
  expect(await served.stop()).toBe(0);
  return served.stderr();
}
