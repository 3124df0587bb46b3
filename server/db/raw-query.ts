// The driver's query with rows of its own making. The driver works out anew for each execution how a row is read, which takes longer
// than reading one; and it clones the query that it makes of a plain object. The columns of a statement are read as everywhere else.
import pg from 'pg';

/** A statement as the server reads it, with `$1`, `$2`, …. */
export interface Query {
  /** None: prepared for this once. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Read by whoever waits: a value that cannot be read is not to be thrown among the driver's events. */
type Rows = () => readonly unknown[];

interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

type Texts = readonly (string | null)[];

class RawQuery extends pg.Query {
  /** The driver prepares a query that has one. */
  readonly name: string | undefined;
  /** Set by the driver. */
  declare readonly callback: (error: Error | null, rows?: Rows) => void;
  #columns: readonly Column[] = [];
  readonly #found: Texts[] = [];

  constructor({ name, text, values }: Query) {
    super(text, [...values]);
    this.name = name;
  }

  handleRowDescription(message: { readonly fields: readonly Column[] }): void {
    this.#columns = message.fields;
  }

  handleDataRow(message: { readonly fields: Texts }): void {
    this.#found.push(message.fields);
  }

  handleReadyForQuery(): void {
    this.callback(null, () => rowsOf(this.#columns, this.#found));
  }
}

interface Sender {
  readonly query: (query: pg.Query, done: (error: Error | null, rows: Rows) => void) => void;
}

/** Rejects with the driver's error as it is. */
export function sendRaw(client: Sender, query: Query): Promise<readonly unknown[]> {
  return new Promise<Rows>((resolve, reject) => {
    client.query(new RawQuery(query), (error, rows) => {
      if (error === null) resolve(rows);
      else reject(error);
    });
  }).then((rows) => rows());
}

const readerOf: (dataTypeID: number) => (text: string) => unknown = pg.types.getTypeParser;

function rowsOf(columns: readonly Column[], found: readonly Texts[]): readonly unknown[] {
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
