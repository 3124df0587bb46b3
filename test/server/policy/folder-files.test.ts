// The bytes of files of a policy folder, whatever their size, and whatever the system says it is.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { DISK } from '../../../server/policy/open/folder-files.js';
import { makeFolder } from '../../support/temp-folder.js';

/** Bytes that are read at once. */
const CHUNK = 256 * 1024;

test.each([0, 1, 4096, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])(
  'a file of %i bytes is read whole',
  async (size) => {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => i % 251));
    const path = join(await makeFolder(), 'a.yaml');
    writeFileSync(path, bytes);
    expect(Buffer.compare(Buffer.from(await DISK.read(path, { links: 'refused' })), bytes)).toBe(0);
  },
);

// The system states no bytes of these. Elsewhere than on Linux there are none.
test.each(
  ['/proc/self/mounts', '/proc/self/cmdline'].filter((path) => existsSync(path)).concat(fileURLToPath(import.meta.url)),
)('%s is read whole, however large it says it is', async (path) => {
  const read = await DISK.read(path, { links: 'followed' });
  expect(Buffer.from(read).toString()).toBe(readFileSync(path, 'utf8'));
});
