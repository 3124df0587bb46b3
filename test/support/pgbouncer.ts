// A real pgbouncer in front of a test's PostgreSQL, if the machine has one, on a Unix socket in a folder of its own.
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { unprivilegedAccount, untilReady } from './postgres.js';

export interface TestPgbouncer {
  readonly url: string;
  stop(): Promise<void>;
}

const PORT = '6432';

export function findPgbouncer(): string | null {
  const folders = ['/usr/sbin', '/usr/local/sbin', ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'pgbouncer')).find((path) => existsSync(path)) ?? null;
}

/** `settings` are lines of its section `pgbouncer`. */
export async function startPgbouncer(serverUrl: string, settings: readonly string[]): Promise<TestPgbouncer> {
  const program = findPgbouncer();
  const account = process.getuid?.() === 0 ? unprivilegedAccount() : null;
  if (program === null || account === 'none') throw new Error('there is no pgbouncer, or no account to run it as');
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-pgbouncer-'));
  const { searchParams, port } = new URL(serverUrl);
  const lines = [
    '[databases]',
    `* = host=${searchParams.get('host') ?? ''} port=${port || '5432'} user=postgres`,
    '[pgbouncer]',
    ...['listen_addr =', `listen_port = ${PORT}`, `unix_socket_dir = ${folder}`, 'auth_type = any', ...settings],
  ];
  writeFileSync(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`);
  if (account !== null) chownSync(folder, account.uid, account.gid);
  const as = account === null ? {} : { uid: account.uid, gid: account.gid };
  const child = spawn(program, ['--quiet', join(folder, 'pgbouncer.ini')], { cwd: folder, stdio: 'ignore', ...as });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => {
      resolve();
    });
  });
  const killAtExit = (): void => {
    child.kill('SIGKILL');
  };
  process.on('exit', killAtExit);
  const bouncer: TestPgbouncer = {
    url: `postgres://postgres@localhost:${PORT}/postgres?host=${encodeURIComponent(folder)}`,
    stop: async () => {
      process.off('exit', killAtExit);
      child.kill('SIGKILL');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await untilReady(bouncer.url);
  return bouncer;
}
