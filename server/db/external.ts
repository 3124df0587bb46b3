// The external store: a PostgreSQL server named by DATABASE_URL. The URL holds a password, so it is kept out of every
// object that might be printed and of every error.
import pg from 'pg';
import type { ConnectionSource } from './connection.js';
import { codeOf, reasonOf } from './failures.js';
import { openClient } from './open-client.js';
import { PLANNER_SETTINGS, SCHEMA } from './session-settings.js';
import { StoreError } from './store-error.js';

export interface ExternalOptions {
  readonly url: string;
  /** Milliseconds; 0 is no limit. */
  readonly statementTimeout: number;
  readonly maxConnections: number;
  /** Milliseconds. */
  readonly idleInTransaction: number;
}

const ACQUIRE_TIMEOUT = 1_000;
const CONNECT_TIMEOUT = 5_000;
/** The server ends a statement itself; we give up a little later, for a network that went silent. */
const GRACE = 500;

export function externalSource(options: ExternalOptions): ConnectionSource {
  const { statementTimeout, maxConnections } = options;
  client(options); // refuses a wrong URL now, not at the first request
  return {
    connect: () => connect(options),
    maxConnections,
    acquireTimeout: ACQUIRE_TIMEOUT,
    deadline: statementTimeout === 0 ? 0 : statementTimeout + GRACE,
  };
}

/** A first connection, so that a wrong address or password is told at start and by a code of its own. */
export async function probeExternal(options: ExternalOptions): Promise<void> {
  try {
    const connection = await connect(options);
    await connection.end();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const refused = /^(?:28|3D|42)/.test(codeOf(error) ?? '');
    throw new StoreError(
      refused ? 'store.refused' : 'store.unreachable',
      `the PostgreSQL at ${placeOf(options)} ${refused ? 'refuses us' : 'cannot be reached'}: ${reasonOf(error)}`,
      { cause: error },
    );
  }
}

/** By the server's names. The schema is set on a connection, and is not its default: that says where earlier releases kept their tables. */
const SETTINGS = [['search_path', SCHEMA], ...PLANNER_SETTINGS]
  .map(([name, value]) => `SET ${name} = ${value}`)
  .join('; ');

function connect(options: ExternalOptions): Promise<pg.Client> {
  const connection = client(options);
  return openClient(connection, () => connection.query(SETTINGS));
}

function client({ url, statementTimeout, idleInTransaction }: ExternalOptions): pg.Client {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new StoreError('store.url', 'the database URL does not begin with postgres:// or postgresql://');
  try {
    return new pg.Client({
      connectionString: url,
      application_name: 'bailiwick',
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      idle_in_transaction_session_timeout: idleInTransaction,
      keepAlive: true,
      ...(statementTimeout === 0 ? {} : { statement_timeout: statementTimeout }),
    });
  } catch {
    // no cause: the driver's error quotes the URL, or a key file
    throw new StoreError('store.url', 'the database URL is not one that the driver understands');
  }
}

/** Where the store is, for messages: host and database, nothing secret. */
function placeOf(options: ExternalOptions): string {
  const { host, port, database } = client(options);
  return `${host}:${String(port)}, database ${database ?? "of the user's name"}`;
}
