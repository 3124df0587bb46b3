// An embedded store whose disk does not answer: closing it ends all the same, and says so.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openDatabase } from '../../../server/db/database.js';
import { startOwner } from '../../../server/db/embedded/owner.js';
import { createSocketDir } from '../../../server/db/embedded/socket-dir.js';
import { takeLock } from '../../../server/lib/owner-lock.js';
import { isDiskStuck } from '../../../server/lib/stuck-disk.js';
import { newDataDir } from '../../support/stores.js';

it('is closed in time although its engine waits for the disk and somebody listens to it', async () => {
  const dataDir = await newDataDir();
  const db = await openDatabase({ kind: 'embedded', dataDir });
  const { failure } = await db.listen('news', () => undefined);
  const read = `SELECT pg_read_file('PG_VERSION')`;
  await db.knex.raw(read);
  // Whoever opens a pipe to read waits for a writer. The engine still takes it for the file that it knows.
  const file = join(dataDir, 'store', 'PG_VERSION');
  rmSync(file);
  execFileSync('mkfifo', [file]);
  await expect(db.knex.raw(read)).rejects.toMatchObject({ code: 'store.timeout' });
  expect([failure, await db.close()]).toEqual([null, false]);
  writeFileSync(file, '');
});

it('is given up in time where its disk hangs while it is opened', async () => {
  const dataDir = await newDataDir();
  await (await openDatabase({ kind: 'embedded', dataDir })).close();
  const file = join(dataDir, 'store', 'PG_VERSION');
  const version = readFileSync(file);
  rmSync(file);
  execFileSync('mkfifo', [file]);
  const lock = takeLock(join(dataDir, 'store.lock'), 2, '');
  if (lock === null) throw new Error('somebody has the lock');
  const opening = startOwner({ dataDir, lock, socketDir: createSocketDir(), idleLimit: 1_000, patience: 500 });
  await expect(opening).rejects.toMatchObject({ code: 'store.silent' });
  expect(isDiskStuck()).toBe(true);
  writeFileSync(file, version);
});
