// One embedded store for a test file, and ordinary clients of the driver on its socket, bypassing knex and its pool.
import { afterAll, beforeAll } from '@jest/globals';
import { realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Database, openDatabase } from '../../server/db/database.js';
import { readLock } from '../../server/lib/owner-lock.js';
import { newDataDir } from './stores.js';

interface EmbeddedStore {
  readonly dataDir: string;
  /** With a table `rows`, and without a limit of time for a statement. */
  readonly database: Database;
  /** Where the socket is. */
  readonly socketDir: () => string;
  /** An ordinary client of the driver. */
  readonly client: () => Promise<pg.Client>;
}

/** Made before the tests of the file, and removed after them. */
export function useEmbeddedStore(): EmbeddedStore {
  let dataDir = '';
  let database: Database | null = null;
  beforeAll(async () => {
    dataDir = await newDataDir();
    database = await openDatabase({ kind: 'embedded', dataDir, statementTimeout: 0, idleInTransaction: 1_500 });
    await database.knex.raw('create table rows (id int primary key, owner text not null default current_user)');
  });
  afterAll(async () => {
    await database?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const socketDir = (): string => {
    const state = readLock(join(realpathSync(dataDir), 'store.lock'));
    if (state.kind !== 'held') throw new Error('nobody owns the store');
    return state.record.socketDir;
  };
  return {
    get dataDir() {
      return dataDir;
    },
    get database() {
      if (database === null) throw new Error('the store is not open yet');
      return database;
    },
    socketDir,
    client: async () => {
      const connection = new pg.Client({ host: socketDir(), port: 5432, user: 'anyone', database: 'postgres' });
      connection.on('error', () => undefined);
      await connection.connect();
      return connection;
    },
  };
}

/** Until it holds, for what happens on other sockets. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  const end = Date.now() + 5_000;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(10);
    }
  }
}

export const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => error,
  );
