// A gateway whose disk does not answer when it is stopped: it says what was not done, and ends all the same.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openDatabase } from '../../server/db/database.js';
import { until } from '../support/until.js';
import { startServing } from '../support/serve-process.js';
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
