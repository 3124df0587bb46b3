// The door for knex. It imports nothing: knex calls what stands in a `where`.
import type { Knex } from 'knex';
import type { Visibility } from '../../engine/index.js';
import { collationQuestion, requireByteOrder, type CatalogRow } from './collation.js';
import { type BoundValue, fill, predicate } from './predicate.js';

/**
 * The condition that a row's namespace is in the set: `db('invoice').where(visibleWhere(set, 'invoice.path'))`. `column` is a
 * name, which knex quotes, or a value in its place.
 */
export function visibleWhere(set: Visibility, column: string | BoundValue): Knex.QueryCallback {
  const bindings: (string | string[])[] = [];
  const text = fill(predicate(set), {
    words: (words) => words,
    hole: (hole) => {
      const isName = hole.kind === 'column' && typeof column === 'string';
      if (hole.kind === 'column') bindings.push(typeof column === 'string' ? column : column.value);
      else bindings.push(hole.kind === 'text' ? hole.value : [...hole.value]);
      return isName ? '??' : '?';
    },
  }).join('');
  return (query) => {
    query.whereRaw(text, bindings);
  };
}

/** Throws unless the column (`invoice.path`) is text that is compared byte by byte; the error says what to run. For the start of a service. */
export async function assertCollation(db: Pick<Knex, 'raw'>, column: string): Promise<void> {
  const { text, values } = collationQuestion(column);
  const { rows } = await db.raw<{ readonly rows: readonly CatalogRow[] }>(text, [...values]);
  requireByteOrder(column, rows);
}
