// Statements on their way to the server: one, or several that travel and are answered together. Statements with a name
// are prepared and describe their columns only once per connection. Columns are decoded as the driver decodes them
// everywhere. The driver's own queries ask for the columns at each execution, which takes longer than reading a row.
import pg from 'pg';
import type { StoreClient } from './connections.js';
import { askerFrame } from './embedded/wire.js';
import { sqlStateOf, unlessRefused } from './failures.js';
import { MEMORY_LIMITS } from '../limits/queries.js';
import { type Binding, listText } from './sql.js';

/** A statement in the form that the server reads, with `$1`, `$2`, …. */
export interface Query {
  /** Without a name the statement is prepared only for this execution. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly Binding[];
}

export interface StatementAnswer {
  /** What the server says it did, such as COMMIT or ROLLBACK. */
  readonly command: string;
  /** Decoded by the caller: a value that cannot be decoded must not throw within the driver's events. */
  readonly rows: () => readonly unknown[];
}

/**
 * Sends the statements at once. If one fails, the server skips those after it, and this rejects with the driver's error
 * unchanged.
 */
export function send(
  client: StoreClient,
  queries: readonly Query[],
  asker?: string,
): Promise<readonly StatementAnswer[]> {
  return new Promise((resolve, reject) => {
    client.query(new Group(client, queries, asker), (error: Error | null, answers: readonly StatementAnswer[]) => {
      if (error === null) resolve(answers);
      else reject(error);
    });
  });
}

/**
 * Sends statements that can be stopped. The connection is not used for anything else until they have ended and the
 * server knows. If they were stopped, this rejects with the reason of the signal. If they commit what they write, the
 * error says whether that may be stored all the same. Only the embedded store may be told who asks.
 */
export async function sendStoppable(
  client: StoreClient,
  queries: readonly Query[],
  {
    signal,
    commits = false,
    asker,
  }: { readonly signal: AbortSignal | undefined; readonly commits?: boolean; readonly asker?: string | undefined },
): Promise<readonly StatementAnswer[]> {
  if (commits) client.throwIfLost();
  const stopping: Promise<void>[] = [];
  const stop = (): void => {
    stopping.push(client.cancel());
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await send(client, queries, asker);
  } catch (error) {
    const reason: unknown = signal?.aborted === true ? signal.reason : error;
    throw commits ? unlessRefused(error, reason) : reason;
  } finally {
    signal?.removeEventListener('abort', stop);
    if (stopping.length > 0) await Promise.all(stopping);
  }
}

/** The rows of the statement at that place. Its columns must be those of `Row`. */
export async function readRows<Row>(
  answers: Promise<readonly StatementAnswer[]>,
  place: number,
): Promise<readonly Row[]> {
  const rows = (await answers)[place]?.rows() ?? [];
  return rows as readonly Row[];
}

interface Prepared {
  /** The columns that a statement answers with, by its name. */
  readonly columns: Map<string, readonly Column[]>;
  /** The characters of all texts that were sent with a name. */
  characters: number;
}

const preparedOn = new WeakMap<StoreClient, Prepared>();

function preparedBy(client: StoreClient): Prepared {
  const known = preparedOn.get(client) ?? { columns: new Map<string, readonly Column[]>(), characters: 0 };
  preparedOn.set(client, known);
  return known;
}

/** Whether a connection has prepared as much as one may. */
export function isFull(client: StoreClient): boolean {
  return (preparedOn.get(client)?.characters ?? 0) > MEMORY_LIMITS.preparedTexts - MEMORY_LIMITS.preparedText;
}

/** The driver's connection, which writes messages of the protocol. */
interface Wire {
  readonly stream: { readonly cork: () => void; readonly uncork: () => void; readonly write: (bytes: Buffer) => void };
  readonly close: (message: { readonly type: 'S'; readonly name: string }) => void;
  readonly parse: (message: { readonly name: string; readonly text: string; readonly types: readonly never[] }) => void;
  readonly bind: (message: { readonly statement: string; readonly values: readonly (string | null)[] }) => void;
  readonly describe: (message: { readonly type: 'P'; readonly name: '' }) => void;
  readonly execute: (message: { readonly portal: '' }) => void;
  readonly sync: () => void;
}

interface Column {
  readonly name: string;
  readonly dataTypeID: number;
}

type Texts = readonly (string | null)[];

/**
 * feature_not_supported, as for a statement whose columns have changed since it was prepared, and
 * invalid_sql_statement_name. It would fail on this connection for ever; the next time it is prepared again.
 */
const LOST: ReadonlySet<string> = new Set(['0A000', '26000']);

/** A query in the form that the driver wants: the driver tells it where to write, and brings the answers. */
class Group {
  /** Set by the driver. */
  declare readonly callback: (error: Error | null, answers?: readonly StatementAnswer[]) => void;
  readonly #prepared: Prepared;
  readonly #queries: readonly Query[];
  readonly #asker: string | undefined;
  readonly #answers: (StatementAnswer & { readonly columns: readonly Column[] })[] = [];
  #described: readonly Column[] = [];
  #found: Texts[] = [];

  constructor(client: StoreClient, queries: readonly Query[], asker?: string) {
    this.#prepared = preparedBy(client);
    this.#queries = queries;
    this.#asker = asker;
  }

  /** Everything goes out in one write: each message alone would take as long as all of them. */
  submit(wire: Wire): null {
    wire.stream.cork();
    if (this.#asker !== undefined) wire.stream.write(askerFrame(this.#asker));
    for (const query of this.#queries) this.#write(wire, query);
    wire.sync();
    wire.stream.uncork();
    return null;
  }

  #write(wire: Wire, { name = '', text, values }: Query): void {
    const isPrepared = this.#prepared.columns.has(name);
    if (!isPrepared) {
      // If the first group with this name failed, nobody knows whether the server has it, so it is closed first.
      if (name !== '') wire.close({ type: 'S', name });
      wire.parse({ name, text, types: [] });
      if (name !== '') this.#prepared.characters += text.length;
    }
    wire.bind({ statement: name, values: values.map(textOf) });
    if (!isPrepared) wire.describe({ type: 'P', name: '' });
    wire.execute({ portal: '' });
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    this.#described = fields;
  }

  handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#found.push(fields);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    const { name = '' } = this.#queries[this.#answers.length] ?? {};
    const columns = this.#prepared.columns.get(name) ?? this.#described;
    const found = this.#found;
    this.#answers.push({ command: text, columns, rows: () => rowsOf(columns, found) });
    this.#described = [];
    this.#found = [];
  }

  handleError(error: Error): void {
    if (LOST.has(sqlStateOf(error) ?? ''))
      for (const { name = '' } of this.#queries) this.#prepared.columns.delete(name);
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.#queries.forEach(({ name }, index) => {
      if (name !== undefined) this.#prepared.columns.set(name, this.#answers[index]?.columns ?? []);
    });
    this.callback(null, this.#answers);
  }
}

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

const readerOf: (dataTypeID: number) => (text: string) => unknown = pg.types.getTypeParser;

function textOf(value: Binding): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value !== 'object') return String(value);
  return listText(value);
}
