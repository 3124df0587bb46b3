// One PostgreSQL for a whole test run, with an empty database and a migrated one to copy. jest's own process starts it
// on the first request, over a socket with a path from the environment, and stops it at the end. Each test file takes a
// database. Tests that stop, crash or reconfigure a server start one of their own (postgres.ts).
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { canonicalize, type NamespacePath } from '../../engine/index.js';
import { openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { partition } from '../../server/db/partitions.js';
import { runSql, startPostgres, type TestPostgres } from './postgres.js';

const VARIABLE = 'BAILIWICK_TEST_POSTGRES';

/** Names of the databases that others are copied from. */
export type Template = 'empty' | 'migrated';
const TEMPLATES: Readonly<Record<Template, string>> = { empty: 'template1', migrated: 'migrated' };

export interface TakenDatabase {
  readonly url: string;
  readonly drop: () => Promise<void>;
}

export interface OfferedPostgres {
  readonly withdraw: () => Promise<void>;
}

/** For jest's own process. */
export async function offerPostgres(): Promise<OfferedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-run-'));
  let starting: Promise<TestPostgres> | null = null;
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    (starting ??= start()).then(
      ({ url }) => socket.end(JSON.stringify({ url })),
      (error: unknown) => socket.end(JSON.stringify({ error: String(error) })),
    );
  });
  server.listen(join(folder, 'ask')).unref();
  await once(server, 'listening');
  process.env[VARIABLE] = join(folder, 'ask');
  const withdraw = async (): Promise<void> => {
    server.close();
    await (await starting?.catch(() => null))?.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { withdraw };
}

async function start(): Promise<TestPostgres> {
  const running = await startPostgres(['max_connections=200', 'shared_buffers=128MB']);
  if (running === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
  await runSql(running.url, `CREATE DATABASE ${TEMPLATES.migrated}`);
  const database = await openDatabase({ kind: 'external', url: running.urlOf(TEMPLATES.migrated) });
  await migrate(database);
  // Comma-separated: to run any suite on a store with partitions.
  const namespaces = process.env['BAILIWICK_TEST_PARTITIONS']?.split(',').map(toPath) ?? [];
  if (namespaces.length > 0) await partition(database, namespaces);
  await database.close();
  return running;
}

function toPath(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`BAILIWICK_TEST_PARTITIONS: not a path: ${text}`);
  return result.path;
}

let taken = 0;

/** For test files: a new database on the server of the run. */
export async function takeDatabase(template: Template): Promise<TakenDatabase> {
  const server = await askForServer();
  const name = `test_${String(process.pid)}_${String(Date.now())}_${String(++taken)}`;
  await runSql(server, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATES[template]}`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => dropDatabase(server, name) };
}

/** Pools say that they have ended before the server has: a connection that it ends by force then would be an error of nobody's. */
export function dropDatabase(server: string, name: string): Promise<void> {
  const wait = `DO $$ BEGIN
      FOR i IN 1..25 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '${name}');
        PERFORM pg_sleep(0.02);
        PERFORM pg_stat_clear_snapshot();
      END LOOP;
    END $$`;
  return runSql(server, wait, `DROP DATABASE ${name} WITH (FORCE)`);
}

async function askForServer(): Promise<string> {
  const socket = connect(process.env[VARIABLE] ?? '');
  const answer = JSON.parse(await text(socket)) as { readonly url?: string; readonly error?: string };
  if (answer.url === undefined) throw new Error(`the tests have no PostgreSQL: ${answer.error ?? 'nobody offers one'}`);
  return answer.url;
}
