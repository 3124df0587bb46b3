// Statements of requests, on a pool of their own and straight to the driver. Those that come again and again are prepared, so that
// the server reads and plans them once a connection. A statement's text holds no value of a request, so that few texts do the work
// of all. What a plan takes in the server follows from the length of its text, about 200 bytes a character on each connection, so
// their length together is what is bounded: for the names that are given, where whatever was longest unused goes first, and on each
// connection, which is replaced when it has prepared that much.
import { MEMORY_LIMITS } from '../limits/queries.js';
import { makeRecent } from '../recent.js';
import type { StoreClient, StorePool } from './connections.js';
import { type Answered, isFull, type Query, readRows, send } from './send.js';
import { type Fragment, placeholders, sharingValues } from './sql.js';

export interface ReadOptions {
  /** Stops the statement, or does not begin it; the reader then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Who asks. Where turns are taken nobody else waits for more than one statement of theirs at a time. */
  readonly asker?: string | undefined;
}

/** Runs one statement outside of any transaction and gives its rows, or rejects with the driver's error as it is. */
export type Reader = <Row>(statement: Fragment, options?: ReadOptions) => Promise<readonly Row[]>;

/** As the server reads it, with `$1`, `$2`, …. */
interface NamedText {
  readonly name: string;
  readonly text: string;
}

export type StatementNames = (text: string) => NamedText | null;

const { preparedTexts: PREPARED, preparedText: LONGEST } = MEMORY_LIMITS;
const TIMES = 3;

/**
 * Names for one store: from the third time that a text is seen lately on. A name never passes to another text, as a connection
 * knows by it what it has prepared.
 */
export function makeStatementNames(): StatementNames {
  const names = makeRecent<NamedText>(PREPARED);
  const seen = makeRecent<number>(Infinity, MEMORY_LIMITS.watchedTexts);
  let given = 0;
  return (text) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (text.length > LONGEST) return null;
    const times = (seen.get(text) ?? 0) + 1;
    seen.put(text, times % TIMES, 0);
    if (times < TIMES) return null;
    given += 1;
    const named = { name: `bailiwick ${String(given)}`, text: placeholders(text) };
    names.put(text, named, text.length);
    return named;
  };
}

export function makeReader(pool: StorePool, turns: Turns | null = null): Reader {
  const names = makeStatementNames();
  const read = async <Row>(statement: Fragment, signal: AbortSignal | undefined): Promise<readonly Row[]> => {
    const query = queryOf(statement, names);
    signal?.throwIfAborted();
    const client = await pool.connect();
    try {
      signal?.throwIfAborted();
      return await readRows(stoppable(client, query, signal), 0);
    } finally {
      client.release(client.isLost || isFull(client));
    }
  };
  return async <Row>(statement: Fragment, { signal, asker }: ReadOptions = {}) => {
    if (statement.bindings.length === 0) throw new Error('a statement without bindings');
    if (turns === null || asker === undefined) return read<Row>(statement, signal);
    return turns(asker, () => read<Row>(statement, signal));
  };
}

/** A filter stands in it many times; where it binds much that is sent once, under no name, or a list of the longest would become hundreds of megabytes. */
export function queryOf(statement: Fragment, names: StatementNames): Query {
  const named = bindsLittle(statement) ? names(statement.text) : null;
  if (named === null) return sharingValues(statement);
  return { name: named.name, text: named.text, values: statement.bindings };
}

function bindsLittle({ bindings }: Fragment): boolean {
  let characters = 0;
  for (const binding of bindings) {
    for (const value of Array.isArray(binding) ? binding : [binding]) {
      characters += 8 + (typeof value === 'string' ? value.length : 0);
      if (characters > MEMORY_LIMITS.repeatedValues) return false;
    }
  }
  return true;
}

/** The connection is not used for anything else before a statement that is to be stopped has ended, and the server knows. */
async function stoppable(
  client: StoreClient,
  query: Query,
  signal: AbortSignal | undefined,
): Promise<readonly Answered[]> {
  const stopping: Promise<void>[] = [];
  const stop = (): void => {
    stopping.push(client.cancel());
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await send(client, [query]);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    if (stopping.length > 0) await Promise.all(stopping);
  }
}

/** Runs the work when everything of this name before it is over. */
type Turns = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * Turns at a store that runs one statement at a time: each caller has one statement there, and the next one when that
 * has ended. So a caller with many statements waits behind its own.
 */
export function makeTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work);
    const over = mine.catch(() => undefined);
    last.set(name, over);
    try {
      return await mine;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
}
