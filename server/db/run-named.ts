// A prepared statement on a connection of knex's pool, straight to the driver: compiling, copying and telling of a text that is
// known takes knex longer than the driver takes to send it. Limits, supervision and the pool are those of connection.ts.
import type { Knex } from 'knex';
import pg from 'pg';
import { clientOf } from './connection.js';
import { makeRoom } from './make-room.js';

export interface NamedStatement {
  /** One name is one text for as long as there are connections; empty: prepared for this once. */
  readonly name: string;
  /** With `$1`, `$2`, …. */
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The rows, or the driver's error as it is, which `toStoreProblem` understands. Not for transactions. */
export async function runNamed<Row>(knex: Knex, statement: NamedStatement): Promise<readonly Row[]> {
  const client = clientOf(knex);
  const connection = await client.acquireConnection();
  try {
    // Whoever listens to knex hears of it as of any other.
    client.emit('query', { sql: statement.text, bindings: statement.values });
    makeRoom(connection, statement);
    const answer = await new Promise<Answer<Row>>((resolve, reject) => {
      connection.query(new RawRows(statement), (error: Error | null, result: Answer<Row>) => {
        if (error === null) resolve(result);
        else reject(error);
      });
    });
    return answer.rows();
  } finally {
    await client.releaseConnection(connection);
  }
}

interface Answer<Row> {
  /** What rows a statement has is known to whoever wrote it. */
  readonly rows: () => readonly Row[];
}

interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

/** The driver's query, which for rows of its own copies objects of the slow kind, several for each statement. */
class RawRows extends pg.Query {
  /** The driver prepares a query that has one. */
  readonly name: string;
  /** Set by the driver. */
  declare readonly callback: (error: Error | null, answer?: Answer<unknown>) => void;
  #columns: readonly Column[] = [];
  readonly #found: (readonly (string | null)[])[] = [];

  constructor({ name, text, values }: NamedStatement) {
    super(text, [...values]);
    this.name = name;
  }

  handleRowDescription(message: { readonly fields: readonly Column[] }): void {
    this.#columns = message.fields;
  }

  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    this.#found.push(message.fields);
  }

  handleReadyForQuery(): void {
    // Read by whoever waits, as nothing may be thrown among the driver's events.
    this.callback(null, { rows: () => rowsOf(this.#columns, this.#found) });
  }
}

/** Values as the driver reads them everywhere else. */
const readerOf: (dataTypeID: number) => (text: string) => unknown = pg.types.getTypeParser;

function rowsOf(columns: readonly Column[], found: readonly (readonly (string | null)[])[]): readonly unknown[] {
  const readers = columns.map(({ dataTypeID }) => readerOf(dataTypeID));
  return found.map((texts) => {
    const row: Record<string, unknown> = {};
    columns.forEach(({ name }, index) => {
      const text = texts[index] ?? null;
      row[name] = text === null ? null : readers[index]?.(text);
    });
    return row;
  });
}
