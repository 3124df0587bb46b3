// A PostgreSQL with a replica that follows it by streaming, and a store that reads from both. Use in a suite of its own.
import { afterAll, beforeAll } from '@jest/globals';
import { type Database, openDatabase } from '../../server/db/database.js';
import { migrate } from '../../server/db/migrate.js';
import { runSql, startPostgres, type TestPostgres } from './postgres.js';

export interface Replicated {
  readonly primary: TestPostgres;
  readonly replica: TestPostgres;
  readonly db: Database;
}

/** Open while the tests of the suite run. `prepare` are statements for the primary. */
export function useReplicated(replicaLag: number, ...prepare: readonly string[]): () => Replicated {
  let open: Replicated | null = null;
  beforeAll(async () => {
    const primary = await startPostgres();
    if (primary === null) throw new Error('there is no account to run PostgreSQL as');
    const replica = await primary.startReplica();
    const admin = await openDatabase({ kind: 'external', url: primary.url });
    await migrate(admin);
    await admin.close();
    await runSql(primary.url, ...prepare);
    const db = await openDatabase({ kind: 'external', url: primary.url, readUrls: [replica.url], replicaLag });
    open = { primary, replica, db };
  });
  afterAll(async () => {
    await open?.db.close();
    await open?.replica.stop();
    await open?.primary.stop();
  });
  return () => {
    if (open === null) throw new Error('the store is open while tests run, not while they are declared');
    return open;
  };
}
