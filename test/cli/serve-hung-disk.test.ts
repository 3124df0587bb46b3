// A gateway whose disk does not answer while it runs or when it is stopped: it says what was not done, and ends all the
// same.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openDatabase } from '../../server/db/database.js';
import { until } from '../support/until.js';
import { runCli } from '../support/run-cli.js';
import { startServing, startServingWith } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { stickFile } from '../support/stuck-file.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

it('ends in time where only the disk of its store does not answer', async () => {
  const [policy, dataDir, audit] = [await makeFolder(POLICY), await newDataDir(), await makeFolder()];
  const settings = await makeFolder({ 'bailiwick.yaml': `audit: { folder: ${audit} }\n` });
  const config = join(settings, 'bailiwick.yaml');
  const gateway = await startServing(dataDir, 'serve', '--policy', policy, '--config', config);
  const disk = stickFile(join(dataDir, 'store.lock', '1'));
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBeNull();
  expect([disk.isStuck(), gateway.child.signalCode]).toEqual([true, 'SIGKILL']);
  expect(gateway.stderr()).toContain('the store could not be closed');
  expect(gateway.stderr()).not.toContain('the audit log');
  disk.free();
});

it('ends in time where the engine of its store does not answer', async () => {
  const [policy, dataDir] = [await makeFolder(POLICY), await newDataDir()];
  const settings = await makeFolder({ 'bailiwick.yaml': 'shutdown: { deadline: 1s }\n' });
  const config = join(settings, 'bailiwick.yaml');
  const gateway = await startServing(dataDir, 'serve', '--policy', policy, '--config', config);
  const other = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 0 });
  const asked = other.knex.raw('SELECT pg_sleep(600)').catch(() => null);
  await until(() => gateway.stderr().includes('the store does not say which activation is the newest'));
  gateway.child.kill('SIGTERM');
  await gateway.ended;
  expect(gateway.child.signalCode).toBe('SIGKILL');
  expect(gateway.stderr()).toContain('"milliseconds":27000,"msg":"the gateway could not be closed in time');
  await asked;
  await other.close();
});

it('ends in time, and its log is free for the next one', async () => {
  const [policy, dataDir] = [await makeFolder(POLICY), await newDataDir()];
  const gateway = await startServing(dataDir, 'serve', '--policy', policy);
  const audit = join(dataDir, 'audit');
  const locks = (): readonly string[] => readdirSync(audit).filter((name) => name.endsWith('.lock'));
  const disk = stickFile(join(audit, locks()[0] ?? '', '1'));
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBeNull();
  expect([disk.isStuck(), gateway.child.signalCode]).toEqual([true, 'SIGKILL']);
  expect(gateway.stderr()).toContain('the lock of the audit log could not be released');
  disk.free();
});

/** From when the file of this name is there, the questions to one file wait for it: it is a pipe that nobody writes to. */
const hangingOn = (path: string, pipe: string): string =>
  `data:text/javascript,${encodeURIComponent(`
  import { existsSync, writeSync } from 'node:fs';
  import files from 'node:fs/promises';
  import { syncBuiltinESMExports } from 'node:module';
  const { open } = files;
  for (const name of ['open', 'stat']) {
    const own = files[name];
    files[name] = (path, ...more) => {
      if (path !== ${JSON.stringify(path)} || !existsSync(${JSON.stringify(pipe)})) return own(path, ...more);
      writeSync(2, 'it hangs\\n');
      return open(${JSON.stringify(pipe)});
    };
  }
  syncBuiltinESMExports();`)}`;

it.each(['a directory store', 'a path', 'a repository'])(
  'goes on where the disk of its source hangs, and ends in time: %s',
  async (kind) => {
    const [cwd, dataDir, folder] = [await makeFolder(), await newDataDir(), await makeFolder(POLICY)];
    const [directory, pipe, policy] = [join(cwd, 'store'), join(cwd, 'pipe'), join(cwd, 'snapshot.json')];
    for (const verb of [
      ['compile', folder, '-o', policy],
      ['publish', policy, '--to', directory],
    ])
      expect(await runCli(verb)).toMatchObject({ status: 0 });
    const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
    for (const args of [
      ['init', '-q', '-b', 'main'],
      ['add', '.'],
      [...author, 'commit', '-q', '-m', 'policy'],
    ])
      execFileSync('git', ['-C', folder, ...args]);
    const [file, source]: readonly [string, readonly string[]] =
      kind === 'a path'
        ? [policy, ['--policy', policy]]
        : kind === 'a repository'
          ? [folder, ['--policy-git', folder]]
          : [join(directory, 'current.json'), ['--policy-directory', directory]];
    const flags = ['--import', hangingOn(file, pipe)];
    const gateway = await startServingWith(flags, dataDir, 'serve', ...source);
    execFileSync('mkfifo', [pipe]);
    await until(() => gateway.stderr().includes('it hangs'));
    await until(() => gateway.stderr().includes('its disk does not answer (no answer within 10 seconds)'));
    const { stdout } = await runCli(['status', '--data-dir', dataDir]);
    expect(stdout).toMatch(/^ready +yes$[^]*^last error .* source\.unreadable: its disk does not answer/m);
    gateway.child.kill('SIGTERM');
    expect([await gateway.ended, gateway.child.signalCode]).toEqual([null, 'SIGKILL']);
    expect(gateway.stderr()).toContain('a disk does not answer, so this process ends itself');
    expect(gateway.stderr()).not.toContain('could not be closed in time');
    expect(gateway.stderr().match(/it hangs/g)).toHaveLength(1);
  },
);
