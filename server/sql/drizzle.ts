// The door for Drizzle on PostgreSQL. It imports `drizzle-orm`, whose conditions are objects of its own.
import { type AnyColumn, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Visibility } from '../../engine/index.js';
import { collationQuestion, requireByteOrder, type CatalogRow } from './collation.js';
import { type BoundValue, fill, predicate } from './predicate.js';

/**
 * The condition that a row's namespace is in the set: `.where(visibleWhere(set, invoices.path))`. `column` is a column, which Drizzle
 * quotes, an expression, or a value in its place.
 */
export function visibleWhere(set: Visibility, column: AnyColumn | SQLWrapper | BoundValue): SQL<boolean> {
  const parts = fill<SQLWrapper>(predicate(set), {
    words: (words) => sql.raw(words),
    // Drizzle would spread a list over several parameters unless it is given as one.
    hole: (hole) => {
      if (hole.kind !== 'column') return sql`${sql.param(hole.value)}`;
      return 'getSQL' in column ? column : sql`${sql.param(column.value)}`;
    },
  });
  return sql<boolean>`${sql.join([...parts])}`;
}

/** Some drivers give the rows, others an object that has them. */
type Rows = readonly CatalogRow[] | { readonly rows: readonly CatalogRow[] };

/** A database of Drizzle on PostgreSQL, whatever its driver. */
export interface Queries {
  execute(query: SQL): PromiseLike<Rows>;
}

/** Throws unless the column (`invoice.path`) is text that is compared byte by byte; the error says what to run. For the start of a service. */
export async function assertCollation(db: Queries, column: string): Promise<void> {
  const { text, values } = collationQuestion(column);
  const [first = '', second = '', last = ''] = text.split('?');
  const question = sql`${sql.raw(first)}${values[0]}${sql.raw(second)}${values[1]}${sql.raw(last)}`;
  const result = await db.execute(question);
  requireByteOrder(column, 'rows' in result ? result.rows : result);
}
