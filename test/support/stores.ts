// The stores that storage tests run on: the embedded one, and a real PostgreSQL where there is one. Use as
//   for (const store of testStores()) describe(store.name, () => { … beforeAll(async () => { opened = await store.open(); }) … });
import { afterAll } from '@jest/globals';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../server/db/database.js';
import type { Database, DatabaseConfig } from '../../server/db/database.js';
import { findPostgres, runSql, startPostgres } from './postgres.js';
import type { TestPostgres } from './postgres.js';

export interface OpenedStore {
  readonly database: Database;
  readonly config: DatabaseConfig;
  /** Closes the store and removes what it left. */
  dispose(): Promise<void>;
}

export interface TestStore {
  readonly name: 'embedded' | 'postgres';
  /** A store of its own with nothing in it. */
  open(): Promise<OpenedStore>;
}

/** Call while tests are being declared: the servers it starts are stopped after the file's tests. */
export function testStores(): readonly TestStore[] {
  const embedded: TestStore = { name: 'embedded', open: openEmbedded };
  if (findPostgres() === null) {
    process.stderr.write('no PostgreSQL is installed here: storage tests run on the embedded store alone\n');
    return [embedded];
  }
  let server: Promise<TestPostgres | null> | null = null;
  let databases = 0;
  afterAll(async () => {
    await (await server)?.stop();
  });
  const open = async (): Promise<OpenedStore> => {
    const running = await (server ??= startPostgres());
    if (running === null) throw new Error('PostgreSQL is installed, but there is no account to run it as');
    const name = `test_${String(++databases)}`;
    await runSql(running.url, `create database ${name}`);
    return opened({ kind: 'external', url: running.urlOf(name) }, () => undefined);
  };
  return [embedded, { name: 'postgres', open }];
}

async function openEmbedded(): Promise<OpenedStore> {
  const dataDir = await newDataDir();
  return opened({ kind: 'embedded', dataDir }, () => {
    rmSync(dataDir, { recursive: true, force: true });
  });
}

async function opened(config: DatabaseConfig, clean: () => void): Promise<OpenedStore> {
  const database = await openDatabase(config);
  return {
    database,
    config,
    dispose: async () => {
      await database.close();
      clean();
    },
  };
}

/** A data folder with an empty store in it, copied from a template: creating one takes seconds. */
export async function newDataDir(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bailiwick-data-'));
  cpSync(join(await template(), 'store'), join(dataDir, 'store'), { recursive: true });
  return dataDir;
}

/** Made once a machine and release of the engine. */
async function template(): Promise<string> {
  const engine = readFileSync(createRequire(import.meta.url).resolve('@electric-sql/pglite'));
  const version = createHash('sha256').update(engine).digest('hex').slice(0, 12);
  const folder = join(tmpdir(), `bailiwick-test-template-${String(process.getuid?.() ?? 0)}-${version}`);
  if (!existsSync(folder)) {
    const draft = mkdtempSync(join(tmpdir(), 'bailiwick-template-'));
    const database = await openDatabase({ kind: 'embedded', dataDir: draft });
    await database.close();
    try {
      renameSync(draft, folder);
    } catch {
      rmSync(draft, { recursive: true, force: true }); // another test process was quicker
    }
  }
  if (lstatSync(folder).uid !== (process.getuid?.() ?? 0)) throw new Error(`${folder} belongs to another user`);
  return folder;
}
