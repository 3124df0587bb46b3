// PostgreSQL servers of the scenarios: clusters of their own on loopback, as the account `postgres` where this runs as root.
import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { freePort, ScenarioError } from './processes.mjs';

const VERSIONS = '/usr/lib/postgresql';

/** The folder with the programs of the newest PostgreSQL of the system. */
export function newestPostgres() {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const bins = versions.sort((a, b) => b - a).map((version) => join(VERSIONS, version, 'bin'));
  const found = bins.find((bin) => existsSync(join(bin, 'initdb')));
  if (found === undefined) throw new ScenarioError(`no PostgreSQL server below ${VERSIONS}; install postgresql`);
  return found;
}

/** PostgreSQL refuses to run as root. Null means the account that runs this. */
export function postgresAccount() {
  if (process.getuid() !== 0) return null;
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** A folder that belongs to that account. */
export function ownedFolder(path) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const account = postgresAccount();
  if (account !== null) chownSync(path, account.uid, account.gid);
  return path;
}

/**
 * Makes a cluster and starts it. `settings` are lines `name=value`; `make` replaces `initdb` with another program that fills the data
 * folder. Syncing is off unless a setting says otherwise: nothing here outlives the machine.
 */
export async function startPostgres(
  { processes, folder },
  { name = 'postgres', bin = newestPostgres(), settings = [], make } = {},
) {
  const account = postgresAccount();
  const home = ownedFolder(join(folder, name));
  const data = join(home, 'data');
  const port = await freePort();
  const initdb = ['initdb', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  const [program, ...parameters] = make ?? initdb;
  const options = { cwd: home, env: { HOME: home, LC_ALL: 'C.UTF-8' }, account };
  await processes.run(`${name}-make`, join(bin, program), ['-D', data, ...parameters], options);
  const ours = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${home}`,
    'fsync=off',
    'max_connections=100',
  ];
  const args = ['-D', data, ...[...ours, ...settings].flatMap((setting) => ['-c', setting])];
  const urlOf = (database) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const server = {
    bin,
    data,
    port,
    url: urlOf('postgres'),
    urlOf,
    process: null,
    start: async () => {
      server.process = processes.start(name, join(bin, 'postgres'), args, options);
      await processes.until(server.process, `${name} answers`, () => answers(server.url));
    },
    stop: (signal = 'SIGINT') => server.process.stop(signal),
  };
  await server.start();
  return server;
}

/** A server of its own that follows another one, and answers queries. */
export function startReplica(scenario, { port }) {
  const copy = [
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-U',
    'postgres',
    '--write-recovery-conf',
    '--wal-method=stream',
  ];
  const make = ['pg_basebackup', ...copy, '--checkpoint=fast', '--no-sync'];
  return startPostgres(scenario, { name: 'replica', make, settings: ['hot_standby=on'] });
}

export async function answers(url) {
  try {
    await query(url, 'SELECT 1');
    return true;
  } catch {
    return false;
  }
}

/** The rows of one statement, on a connection of its own. */
export async function query(url, text, values = []) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
