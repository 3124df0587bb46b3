// Whether the disk of a data folder answers. Opening its store stops the whole process while it does not, so it is asked
// beside the process before that.
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endsWithin } from '../../lib/ends-within.js';
import { noteStuckDisk } from '../../lib/stuck-disk.js';
import { OWNER_LIMITS } from '../../limits/store.js';
import { StoreError } from '../failures.js';

/** Throws `store.silent` if it does not answer. */
export async function checkDisk(dataDir: string): Promise<void> {
  const file = join(dataDir, 'store.lock', `draft-${randomUUID()}`);
  const asking = writeFile(file, '', { flag: 'wx' }).then(() => rm(file, { force: true }));
  // A folder that cannot be written has answered, and what follows says why it cannot be used.
  if (
    await endsWithin(
      asking.catch(() => undefined),
      OWNER_LIMITS.diskPatience,
    )
  )
    return;
  noteStuckDisk();
  throw new StoreError('store.silent', `the disk of the data folder ${dataDir} does not answer`);
}
