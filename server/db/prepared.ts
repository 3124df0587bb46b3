// Statements of requests, on a pool of their own and straight to the driver. Statements that are used again are
// prepared, so that the server parses and plans them once per connection. A statement's text holds no value of a
// request, so a few texts do most of the work. A plan takes about 200 bytes in the server for each character of its
// text, on each connection. So the total length of texts is bounded. For the names that are given, what has been unused
// longest goes first. A connection that has prepared that much is replaced.
import { MEMORY_LIMITS } from '../limits/queries.js';
import { makeLruCache } from '../lib/lru-cache.js';
import type { StorePool } from './connections.js';
import { isFull, type Query, readRows, sendStoppable } from './send.js';
import { WHOLE_RANGES } from './session-settings.js';
import { type Fragment, placeholders, sharingValues } from './sql.js';
import type { Turns } from '../lib/turns.js';

export interface ReadOptions {
  /** Stops the statement, or keeps it from beginning. The reader then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Who asks. If the store takes turns, nobody waits for more than one statement of another asker at a time, or two brief ones. */
  readonly asker?: string | undefined;
  /** Whether the statement reads whole ranges in any order, so that it is planned with `WHOLE_RANGES`. */
  readonly whole?: boolean | undefined;
}

/** Runs one statement outside any transaction and returns its rows. Rejects with the driver's error unchanged. */
export type StoreReader = <Row>(statement: Fragment, options?: ReadOptions) => Promise<readonly Row[]>;

/** In the form that the server reads, with `$1`, `$2`, …. */
interface NamedText {
  readonly name: string;
  readonly text: string;
}

export type StatementNames = (text: string) => NamedText | null;

const { preparedTexts: PREPARED, preparedText: LONGEST } = MEMORY_LIMITS;
const TIMES = 3;

/**
 * Names for the statements of one store. A text gets a name the third time that it is seen within a while. A name never
 * passes to another text, because it tells a connection what it has prepared.
 */
export function makeStatementNames(): StatementNames {
  const names = makeLruCache<NamedText>(PREPARED);
  const seen = makeLruCache<number>(Infinity, MEMORY_LIMITS.watchedTexts);
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

const PLANNED_WHOLE: Query = Object.freeze({ name: 'bailiwick whole', text: WHOLE_RANGES.text, values: [] });

/** Whoever else uses the pool gives the same names. */
export function makeReader(
  pool: StorePool,
  turns: Turns | null = null,
  names: StatementNames = makeStatementNames(),
): StoreReader {
  const read = async <Row>(
    statement: Fragment,
    { signal, asker, whole = false }: ReadOptions,
  ): Promise<readonly Row[]> => {
    // What travels together is one transaction, so the settings end with it.
    const queries = [...(whole ? [PLANNED_WHOLE] : []), queryOf(statement, names)];
    signal?.throwIfAborted();
    const client = await pool.connect();
    try {
      signal?.throwIfAborted();
      return await readRows(sendStoppable(client, queries, { signal, asker }), queries.length - 1);
    } finally {
      client.release(client.isLost || isFull(client));
    }
  };
  return async <Row>(statement: Fragment, options: ReadOptions = {}) => {
    const { asker } = options;
    if (statement.bindings.length === 0) throw new Error('a statement without bindings');
    if (turns === null || asker === undefined) return read<Row>(statement, { ...options, asker: undefined });
    // In this process; the store takes turns between all its clients. Meanwhile the asker takes none of the connections.
    const leave = await turns.enter(asker);
    try {
      return await read<Row>(statement, options);
    } finally {
      leave();
    }
  };
}

/**
 * A statement contains its filter many times. If the filter binds much, the values are sent once and the statement has
 * no name. Otherwise a list of the greatest length would become hundreds of megabytes.
 */
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
