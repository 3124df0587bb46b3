// The folder of the socket on which an owner serves its store. It is new for each owner, accessible to this user alone,
// and its name is short enough for a socket. It is not in the data folder, where the file system may not support
// sockets and the path may be too long.
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
 * Uses the system's folder for this user's runtime files (`XDG_RUNTIME_DIR`) if there is one, because nobody tidies it;
 * otherwise a temporary folder. Throws `store.socket`.
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

/**
 * The name may come from a file. So this only removes what looks like ours: a folder of that name with nothing but a
 * socket in it.
 */
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
