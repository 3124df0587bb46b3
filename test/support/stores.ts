// The stores that storage tests run on: the embedded one, and a real PostgreSQL where there is one. Each test file has stores
// of its own, copied from a migrated one, as migrating takes seconds. Use as
//   describeOnStores('records', (store) => { … store.db … });
import { afterAll, beforeAll, describe } from '@jest/globals';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NamespacePath } from '../../engine/index.js';
import { type Database, type DatabaseConfig, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { partition } from '../../server/db/partitions.js';
import { takeDatabase, type Template } from './one-postgres.js';
import { findPostgres } from './postgres.js';
import { fromRoot } from './root.js';

export interface OpenedStore {
  readonly database: Database;
  readonly config: DatabaseConfig;
  /** Closes the store and removes what it left. */
  dispose(): Promise<void>;
}

/** Removed by whoever had it made. */
export type MadeStore = Pick<OpenedStore, 'config'> & { readonly remove: () => void | Promise<void> };

export interface TestStore {
  readonly name: 'embedded' | 'postgres';
  /** A migrated store of its own without records. */
  open(): Promise<OpenedStore>;
  /** One of its own that was never migrated. */
  openEmpty(): Promise<OpenedStore>;
  /** A migrated store of its own that nobody has opened. */
  make(): Promise<MadeStore>;
}

export function testStores(): readonly TestStore[] {
  const embedded = storeOf('embedded', makeEmbedded);
  // Mutation tests run on one store: the other would only take its time again.
  const only = process.env['BAILIWICK_TEST_STORE'];
  const isWanted = ({ name }: TestStore): boolean => only === undefined || name === only;
  if (findPostgres() !== null) return [embedded, storeOf('postgres', makePostgres)].filter(isWanted);
  process.stderr.write('no PostgreSQL is installed here: storage tests run on the embedded store alone\n');
  return [embedded];
}

/** A PostgreSQL whose records have partitions; none if there is no PostgreSQL. */
export function partitionedStores(...namespaces: readonly NamespacePath[]): readonly TestStore[] {
  if (findPostgres() === null) return [];
  const make = async (template: Template): Promise<MadeStore> => {
    const made = await makePostgres(template);
    const database = await openDatabase(made.config);
    await partition(database, namespaces);
    await database.close();
    return made;
  };
  return [storeOf('postgres', make)];
}

/** The store of a suite, open while its tests run. */
export interface StoreOfSuite extends TestStore {
  readonly db: Database;
  readonly config: DatabaseConfig;
}

/** The suite of `what` once for each store, with a migrated store of its own. */
export function describeOnStores(
  what: string,
  declare: (store: StoreOfSuite) => void,
  stores: readonly TestStore[] = testStores(),
): void {
  for (const store of stores) {
    describe(`${what} on the ${store.name} store`, () => {
      let opened: OpenedStore | null = null;
      const current = (): OpenedStore => {
        if (opened === null) throw new Error('the store is open while tests run, not while they are declared');
        return opened;
      };
      beforeAll(async () => {
        opened = await store.open();
      });
      declare({
        ...store,
        get db() {
          return current().database;
        },
        get config() {
          return current().config;
        },
      });
      // Hooks run in the order in which they are declared.
      afterAll(async () => {
        await opened?.dispose();
      });
    });
  }
}

function storeOf(name: TestStore['name'], make: (template: Template) => Promise<MadeStore>): TestStore {
  return {
    name,
    open: async () => opened(await make('migrated')),
    openEmpty: async () => opened(await make('empty')),
    make: () => make('migrated'),
  };
}

/** What is not about time fails for other reasons than a busy machine: the usual limits would be passed there. In milliseconds. */
export const PATIENT = { statementTimeout: 60_000, acquireTimeout: 60_000, connectTimeout: 60_000 };

async function makePostgres(template: Template): Promise<MadeStore> {
  const { url, drop } = await takeDatabase(template);
  return { config: { kind: 'external', url, ...PATIENT }, remove: drop };
}

async function makeEmbedded(template: Template): Promise<MadeStore> {
  const dataDir = await newDataDir(template);
  const remove = (): void => {
    rmSync(dataDir, { recursive: true, force: true });
  };
  return { config: { kind: 'embedded', dataDir, ...PATIENT }, remove };
}

async function opened({ config, remove }: MadeStore): Promise<OpenedStore> {
  const database = await openDatabase(config);
  return {
    database,
    config,
    dispose: async () => {
      await database.close();
      await remove();
    },
  };
}

/** A data folder with a store in it, copied from a template: creating one takes seconds. */
export async function newDataDir(template: Template = 'migrated'): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'bailiwick-data-'));
  for (const { path, mode, content } of await entriesOf(template)) {
    const to = join(dataDir, 'store', path);
    if (content === null) mkdirSync(to, { mode });
    else {
      writeFileSync(to, content.bytes, { mode });
      if (content.bytes.length < content.size) truncateSync(to, content.size);
    }
  }
  return dataDir;
}

/** A file or a folder of a template. */
interface Entry {
  readonly path: string;
  readonly mode: number;
  /** Null of a folder. A file goes on with zeros to its size. */
  readonly content: { readonly bytes: Buffer; readonly size: number } | null;
}

declare global {
  /** Templates that this process has read, for all of its test files: reading them again takes longer than writing. */
  var testTemplates: Map<string, readonly Entry[]> | undefined;
}

/** Folders before what is in them. */
async function entriesOf(template: Template): Promise<readonly Entry[]> {
  const folder = join(await templates(), template, 'store');
  const read = (globalThis.testTemplates ??= new Map<string, readonly Entry[]>());
  const known = read.get(folder);
  if (known !== undefined) return known;
  const paths = ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()];
  const entries = paths.map((path) => {
    const from = join(folder, path);
    const facts = statSync(from);
    return { path, mode: facts.mode, content: facts.isDirectory() ? null : withoutZeros(readFileSync(from)) };
  });
  read.set(folder, entries);
  return entries;
}

/** A log of 16 MiB is zeros but for its beginning. */
function withoutZeros(bytes: Buffer): NonNullable<Entry['content']> {
  let size = bytes.length;
  while (size > 0 && bytes[size - 1] === 0) size -= 1;
  return { bytes: Buffer.from(bytes.subarray(0, size)), size: bytes.length };
}

/** Made once for a release of the engine and what migrates; `make clean` removes them. */
async function templates(): Promise<string> {
  const folder = fromRoot(`.run/stores/${versionOfTemplates()}`);
  if (existsSync(folder)) return folder;
  mkdirSync(fromRoot('.run/stores'), { recursive: true });
  const draft = mkdtempSync(fromRoot('.run/stores/draft-'));
  const empty = await openDatabase({ kind: 'embedded', dataDir: join(draft, 'empty') });
  // Nobody connects to these databases, and they are most of the files of which each test has a copy.
  await empty.knex.raw('UPDATE pg_database SET datistemplate = false');
  for (const name of ['template0', 'template1']) await empty.knex.raw(`DROP DATABASE ${name}`);
  await empty.close();
  cpSync(join(draft, 'empty', 'store'), join(draft, 'migrated', 'store'), { recursive: true });
  const database = await openDatabase({ kind: 'embedded', dataDir: join(draft, 'migrated') });
  await migrate(database);
  await database.close();
  try {
    renameSync(draft, folder);
  } catch {
    rmSync(draft, { recursive: true, force: true }); // another test process was quicker
  }
  return folder;
}

function versionOfTemplates(): string {
  const compiled = fromRoot('dist/server/db');
  const migrations = readdirSync(join(compiled, 'migrations')).sort();
  const files = [
    createRequire(import.meta.url).resolve('@electric-sql/pglite'),
    fromRoot('dist/test/support/stores.js'),
    join(compiled, 'migrate.js'),
    ...migrations.filter((name) => name.endsWith('.js')).map((name) => join(compiled, 'migrations', name)),
  ];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}
