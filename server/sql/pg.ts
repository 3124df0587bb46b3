// The door for plain `pg`, and for every driver that takes a text with `$1` and a list of values.
import type { Visibility } from '../../engine/index.js';
import { collationQuestion, numbered, requireByteOrder, type CatalogRow } from './collation.js';
import { type BoundValue, fill, predicate, quoteNames } from './predicate.js';

/** A condition to stand in a WHERE, in parentheses where it needs them, and what its parameters stand for. */
export interface Condition {
  readonly text: string;
  readonly values: readonly (string | readonly string[])[];
}

/**
 * The condition that a row's namespace is in the set. `column` is a name (`path`, `invoice.path`), quoted here, or a value in its
 * place. `used` is how many parameters stand before: the first of this condition is `$<used + 1>`.
 */
export function visibleWhere(set: Visibility, column: string | BoundValue, used = 0): Condition {
  const values: (string | readonly string[])[] = [];
  const bind = (value: string | readonly string[]): string => {
    values.push(value);
    return `$${String(used + values.length)}`;
  };
  const text = fill(predicate(set), {
    words: (words) => words,
    hole: (hole) => {
      if (hole.kind !== 'column') return bind(hole.value);
      return typeof column === 'string' ? quoteNames(column) : bind(column.value);
    },
  }).join('');
  return { text, values };
}

/** A `Client` or `Pool`. */
export interface Queries {
  query(text: string, values: unknown[]): PromiseLike<{ readonly rows: readonly CatalogRow[] }>;
}

/** Throws unless the column (`invoice.path`) is text that is compared byte by byte; the error says what to run. For the start of a service. */
export async function assertCollation(db: Queries, column: string): Promise<void> {
  const { text, values } = collationQuestion(column);
  requireByteOrder(column, (await db.query(numbered(text), [...values])).rows);
}
