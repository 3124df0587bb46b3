// The folder of the socket that an owner serves its store on: fresh for each owner, for this user alone, and with a name
// short enough for a socket. It is not in the data folder, whose file system may know no sockets and whose name may be long.
import { lstatSync, mkdtempSync, readdirSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { SYSTEM_LIMITS } from '../../limits/http.js';
import { reasonOf, StoreError } from '../failures.js';

/** pg connects to `<folder>/.s.PGSQL.<port>`. */
export const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${String(SOCKET_PORT)}`;
const FOLDER_NAME = /^bailiwick-[A-Za-z0-9]{6}$/;

export const socketPath = (folder: string): string => join(folder, SOCKET_NAME);

/**
 * Where the system has a folder for what this user runs (`XDG_RUNTIME_DIR`), which nobody tidies, in there; else in a temporary one.
 * Throws `store.socket`.
 */
export function createSocketDir(): string {
  const failures: unknown[] = [];
  for (const parent of [`/run/user/${String(process.getuid?.())}`, tmpdir(), '/tmp']) {
    if (Buffer.byteLength(socketPath(join(parent, 'bailiwick-XXXXXX'))) > SYSTEM_LIMITS.socketPathBytes) continue;
    try {
      return mkdtempSync(join(parent, 'bailiwick-')); // 0700, and a name that nobody can have made before
    } catch (error) {
      failures.push(error);
    }
  }
  const cause = failures.at(-1);
  if (cause === undefined)
    throw new StoreError('store.socket', 'the path of the temporary folder is too long for a socket');
  throw new StoreError('store.socket', `no socket can be created: ${reasonOf(cause)}`, { cause });
}

/** The name may come from a file, so only what looks like ours goes: a folder of that name with nothing but a socket. */
export function removeSocketDir(folder: string): void {
  try {
    if (!FOLDER_NAME.test(basename(folder)) || !lstatSync(folder).isDirectory()) return;
    if (readdirSync(folder).some((name) => name !== SOCKET_NAME)) return;
    rmSync(socketPath(folder), { force: true });
    rmdirSync(folder);
  } catch {
    return; // gone already, or another user's: nothing depends on it
  }
}
