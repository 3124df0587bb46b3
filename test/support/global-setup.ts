// Runs once before all test files, in jest's own process. It owns the one PostgreSQL of the run, which starts when the
// first test file asks for it, and the folder of everything temporary.
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offerPostgres } from './one-postgres.js';

/** Where a system has files in memory: stores are copied, flushed and removed there in no time. */
const MEMORY = '/dev/shm';
/** Bytes that the stores of a run may take at once. */
const ROOM = 2 ** 31;

// eslint-disable-next-line no-restricted-syntax -- jest calls the default export
export default async function setUp(): Promise<void> {
  const folder = mkdtempSync(join(isRoomy(MEMORY) ? MEMORY : tmpdir(), 'bailiwick-'));
  chmodSync(folder, 0o711); // the account of the PostgreSQL passes through
  process.env['TMPDIR'] = folder;
  const offered = await offerPostgres();
  const tearDownTests = async (): Promise<void> => {
    await offered.withdraw();
    rmSync(folder, { recursive: true, force: true });
  };
  Object.assign(globalThis, { tearDownTests });
}

function isRoomy(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > ROOM;
}
