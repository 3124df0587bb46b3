// An owner whose folder another one took while it slept: whatever it does when it wakes, it writes nothing over the other's work.
import { expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../server/db/database.js';
import { newDataDir } from '../../support/stores.js';

/** Of every file of the store. */
function digestsOf(dataDir: string): ReadonlyMap<string, string> {
  const store = join(dataDir, 'store');
  const files = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(store, file)).isFile(),
  );
  return new Map(
    files.sort().map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(store, file)))
        .digest('hex'),
    ]),
  );
}

it.each([true, false])('an owner closes its store, superseded: %s', async (isSuperseded) => {
  const dataDir = await newDataDir();
  try {
    const db = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 3_000 });
    // Rolled back, so that there is a log that no commit has written.
    await db.knex.transaction(async (transaction) => {
      await transaction.raw('CREATE TABLE left_over (id int)');
      await transaction.rollback();
    });
    const lock = join(dataDir, 'store.lock');
    const mine = Math.max(
      ...readdirSync(lock)
        .filter((name) => /^\d+$/.test(name))
        .map(Number),
    );
    if (isSuperseded) writeFileSync(join(lock, String(mine + 1)), 'released\n');
    const before = digestsOf(dataDir);
    await db.close();
    const after = digestsOf(dataDir);
    if (isSuperseded) expect([...after]).toEqual([...before]);
    else expect(after.get('global/pg_control')).not.toBe(before.get('global/pg_control'));
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
