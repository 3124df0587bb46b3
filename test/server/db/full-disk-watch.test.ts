// What is remembered of a full disk, while several ask at once whether it has room again.
import { expect, it } from '@jest/globals';
import { StoreError } from '../../../server/db/failures.js';
import { watchDisk } from '../../../server/db/full-disk.js';
import { POOL_LIMITS } from '../../../server/limits/store.js';

const FULL = new StoreError('store.full', 'the disk is full');

it('has room for all who ask at once, as soon as it has for one', async () => {
  const realNow = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => realNow() + ahead;
  try {
    const disk = watchDisk(() => Promise.resolve([]));
    disk.hear(FULL);
    await expect(Promise.all([disk.assertRoom(), disk.assertRoom()])).rejects.toBe(FULL);
    ahead = POOL_LIMITS.fullDiskQuiet;
    await expect(Promise.all([disk.assertRoom(), disk.assertRoom()])).resolves.toEqual([undefined, undefined]);
  } finally {
    performance.now = realNow;
  }
});
