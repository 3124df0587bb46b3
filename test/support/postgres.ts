// A real PostgreSQL for tests, if the machine has one: a cluster of its own in a temporary folder, on a Unix socket
// only, run as an unprivileged account if the tests run as root. Without one, tests say that they are skipped.
import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

export interface TestPostgres {
  /** Of the database `postgres`, as superuser. */
  readonly url: string;
  /** The same server with another database of that name, which must exist. */
  readonly urlOf: (database: string) => string;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
  /** Stops the server at once, as a crash would (`pg_ctl stop -m immediate`). */
  crash(): Promise<void>;
  /** Starts it again and waits until it answers. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** A server of its own that follows this one by streaming, and answers queries. */
  startReplica(settings?: readonly string[]): Promise<TestPostgres>;
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const START_TIMEOUT = 30_000;

/** The folder of `initdb` and `postgres`, or null. */
export function findPostgres(): string | null {
  const versions = '/usr/lib/postgresql';
  const packaged = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, 'bin'))
    : [];
  const inPath = (process.env['PATH'] ?? '').split(delimiter);
  return (
    [...packaged, ...inPath].find((bin) => existsSync(join(bin, 'initdb')) && existsSync(join(bin, 'postgres'))) ?? null
  );
}

/**
 * Starts a server of its own, with `name=value` settings after ours; null if none is installed, or where only root is there
 * to run it.
 */
export async function startPostgres(settings: readonly string[] = []): Promise<TestPostgres | null> {
  const bin = findPostgres();
  const account = process.getuid?.() === 0 ? unprivilegedAccount() : null;
  if (bin === null || account === 'none') return null;
  const make = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  return startServer({ bin, account, settings, make: ['initdb', ...make] });
}

interface ServerOptions {
  readonly bin: string;
  readonly account: Account | null;
  readonly settings: readonly string[];
  /** What makes the data folder, without that folder. */
  readonly make: readonly [program: string, ...parameters: string[]];
}

async function startServer({ bin, account, settings, make }: ServerOptions): Promise<TestPostgres> {
  const [program, ...makeParameters] = make;
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-pg-'));
  if (account !== null) chownSync(folder, account.uid, account.gid);
  const data = join(folder, 'data');
  const as = account === null ? {} : { uid: account.uid, gid: account.gid };
  const options = { cwd: folder, env: { ...process.env, LC_ALL: 'C.UTF-8', HOME: folder }, ...as };
  await promisify(execFile)(join(bin, program), ['-D', data, ...makeParameters], options);

  let stopServer = run();
  const killAtExit = (): void => {
    stopServer('SIGKILL');
  };
  process.on('exit', killAtExit);
  const port = settings.findLast((setting) => setting.startsWith('port='))?.slice('port='.length) ?? '5432';
  const urlOf = (database: string): string =>
    `postgres://postgres@localhost:${port}/${database}?host=${encodeURIComponent(folder)}`;
  const server: TestPostgres = {
    url: urlOf('postgres'),
    urlOf,
    stop: async () => {
      process.off('exit', killAtExit);
      await stopServer('SIGINT').gone;
      rmSync(folder, { recursive: true, force: true });
    },
    crash: async () => {
      await stopServer('SIGQUIT').gone;
    },
    start: async () => {
      stopServer = run();
      await untilReady(server.url);
    },
    restart: async () => {
      await server.crash();
      await server.start();
    },
    startReplica: (more = []) => {
      const from = ['-h', folder, '-p', port, '-U', 'postgres'];
      const copy = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync'];
      return startServer({ bin, account, settings: [...settings, ...more], make: ['pg_basebackup', ...from, ...copy] });
    },
  };
  await untilReady(server.url);
  return server;

  function run(): (signal: NodeJS.Signals) => { readonly gone: Promise<void> } {
    const parameters = [
      '-D',
      data,
      '-k',
      folder,
      '-F',
      '-c',
      'listen_addresses=',
      '-c',
      'max_connections=60',
      '-c',
      'shared_buffers=64MB',
      ...settings.flatMap((setting) => ['-c', setting]),
    ];
    const child = spawn(join(bin, 'postgres'), parameters, { ...options, stdio: 'ignore' });
    const gone = new Promise<void>((resolve) => {
      child.once('exit', () => {
        resolve();
      });
    });
    return (signal) => {
      child.kill(signal);
      return { gone };
    };
  }
}

/** Waits until something at this URL takes a session. */
export async function untilReady(url: string): Promise<void> {
  const until = Date.now() + START_TIMEOUT;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await sleep(50);
    }
  }
}

/** PostgreSQL refuses to run as root. */
export function unprivilegedAccount(): Account | 'none' {
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of ['postgres', 'nobody']) {
    const entry = accounts.find((fields) => fields[0] === name);
    if (entry !== undefined) return { name, uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  return 'none';
}

/** Statements run one after the other by a client of their own. */
export async function runSql(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
