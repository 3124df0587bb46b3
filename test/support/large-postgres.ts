// A store on PostgreSQL that a suite fills with many records: it takes as long as that needs, and is not there where no PostgreSQL is.
import { afterAll, describe } from '@jest/globals';
import { type Database, openDatabase } from '../../server/db/database.js';
import { type OpenedStore, testStores } from './stores.js';

/** `open` gives a migrated store without records and without a limit of time; it is closed after the tests. */
export function describeLargePostgres(what: string, declare: (open: () => Promise<Database>) => void): void {
  const postgres = testStores().find(({ name }) => name === 'postgres');
  if (postgres === undefined) {
    describe.skip(what, () => {
      declare(() => Promise.reject(new Error('there is no PostgreSQL')));
    });
    return;
  }
  describe(what, () => {
    let opened: OpenedStore | null = null;
    let db: Database | null = null;
    declare(async () => {
      opened = await postgres.open();
      db = await openDatabase({ ...opened.config, statementTimeout: 0 });
      return db;
    });
    afterAll(async () => {
      await db?.close();
      await opened?.dispose();
    });
  });
}
