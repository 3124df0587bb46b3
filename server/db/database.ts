// The door to the store. Everything above sees an ordinary knex on the PostgreSQL dialect; whether the server is the
// embedded engine or a PostgreSQL of the operator's makes no difference to it (design 7).
import type { Knex } from 'knex';
import { createKnex } from './connection.js';
import { embeddedSource } from './embedded/source.js';
import { externalSource, probeExternal } from './external.js';

export type DatabaseConfig =
  /** `dataDir` is the folder of the gateway's data; the store is in `store/` below it. */
  | ({ readonly kind: 'embedded'; readonly dataDir: string } & Limits)
  /** `url` is postgres://user:password@host/database, with the parameters that pg takes. */
  | ({ readonly kind: 'external'; readonly url: string } & Limits);

/** Told once, in a line, if the store of the folder is another process's and does not answer within two seconds. */
export type OnWait = (message: string) => void;

interface Limits {
  /** Milliseconds a statement may take, 3,000 unless said; 0 is no limit (for migrations and loading). */
  readonly statementTimeout?: number;
  /** Connections of this process, 8 unless said. */
  readonly maxConnections?: number;
  /** Milliseconds a transaction may idle before it is rolled back and its connection ended, 10,000 unless said. */
  readonly idleInTransaction?: number;
  /** Of an embedded store. */
  readonly onWait?: OnWait;
}

export interface Database {
  readonly kind: 'embedded' | 'external';
  readonly knex: Knex;
  /** Resolves if the store answers; rejects with what `toStoreProblem` understands. */
  ping(): Promise<void>;
  /** Ends the connections; an embedded store that this process owns is closed cleanly and handed to whoever asks next. */
  close(): Promise<void>;
}

const STATEMENT_TIMEOUT = 3_000;
const MAX_CONNECTIONS = 8;
const IDLE_IN_TRANSACTION = 10_000;

/**
 * Opens the store and waits until it answers; an embedded store is created where there is none.
 * Throws `StoreError`: `store.url`, `store.unreachable`, `store.refused`, `store.locked`, `store.corrupt` and so on.
 */
export async function openDatabase(config: DatabaseConfig): Promise<Database> {
  const limits = {
    statementTimeout: config.statementTimeout ?? STATEMENT_TIMEOUT,
    maxConnections: config.maxConnections ?? MAX_CONNECTIONS,
    idleInTransaction: config.idleInTransaction ?? IDLE_IN_TRANSACTION,
  };
  if (config.kind === 'external') {
    const options = { url: config.url, ...limits };
    const source = externalSource(options);
    await probeExternal(options);
    return database('external', createKnex(source), () => Promise.resolve());
  }
  const embedded = embeddedSource({
    dataDir: config.dataDir,
    ...limits,
    ...(config.onWait === undefined ? {} : { onWait: config.onWait }),
  });
  await embedded.start();
  return database('embedded', createKnex(embedded.source), embedded.close);
}

function database(kind: Database['kind'], db: Knex, closeStore: () => Promise<void>): Database {
  let closing: Promise<void> | null = null;
  const close = async (): Promise<void> => {
    await db.destroy();
    await closeStore();
  };
  return {
    kind,
    knex: db,
    ping: async () => {
      await db.raw('select 1');
    },
    close: () => (closing ??= close()),
  };
}
