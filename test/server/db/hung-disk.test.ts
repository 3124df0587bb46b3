// An embedded store whose disk does not answer: closing it ends all the same, and says so.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openDatabase } from '../../../server/db/database.js';
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
