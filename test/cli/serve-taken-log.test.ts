// A gateway that stood still for so long that another process has taken over its audit log: it can record nothing any more.
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startServing } from '../support/serve-process.js';
import { newDataDir } from '../support/stores.js';
import { makeFolder } from '../support/temp-folder.js';
import { EXIT } from '../../server/cli/exit.js';
import { POLICY } from './policies.js';

it('ends with a status for which it is started again, and gets a log of its own then', async () => {
  const [policy, dataDir] = [await makeFolder(POLICY), await newDataDir()];
  const gateway = await startServing(dataDir, 'serve', '--policy', policy);
  const audit = join(dataDir, 'audit');
  const [lock = ''] = readdirSync(audit).filter((name) => name.endsWith('.lock'));
  copyFileSync(join(audit, lock, '1'), join(audit, lock, '2'));
  expect(await gateway.ended).toBe(EXIT.away);
  expect(gateway.stderr()).toContain('"code":"audit.taken","message":"another process has taken over the audit log');

  const next = await startServing(dataDir, 'serve', '--policy', policy);
  next.child.kill('SIGTERM');
  expect(await next.ended).toBe(0);
});
