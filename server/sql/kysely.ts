// The door for Kysely. It imports types alone: an expression of Kysely is plain data.
import type { CompiledQuery, Expression, OperationNode, RawNode, SqlBool, ValueNode } from 'kysely';
import type { Visibility } from '../../engine/index.js';
import { collationQuestion, numbered, requireByteOrder, type CatalogRow } from './collation.js';
import { type BoundValue, predicate } from './predicate.js';

/** A builder of expressions over a query that has the column. */
export interface Refers<Column extends string> {
  readonly ref: (column: Column) => { toOperationNode(): OperationNode };
}

/**
 * The condition that a row's namespace is in the set: `.where(visibleWhere(set, 'invoice.path'))`. `column` is a column of the
 * query, checked by its types and quoted by Kysely, or a value in its place.
 */
export function visibleWhere<Column extends string = never>(
  set: Visibility,
  column: Column | BoundValue,
): (builder: Refers<Column>) => Expression<SqlBool> {
  const { strings, holes } = predicate(set);
  return (builder) => {
    const parameters = holes.map((hole) => {
      if (hole.kind !== 'column') return valueNode(hole.value);
      return typeof column === 'object' ? valueNode(column.value) : builder.ref(column).toOperationNode();
    });
    return { expressionType: undefined, toOperationNode: () => rawNode(strings, parameters) };
  };
}

function valueNode(value: unknown): ValueNode {
  return Object.freeze({ kind: 'ValueNode', value });
}

function rawNode(sqlFragments: readonly string[], parameters: readonly OperationNode[]): RawNode {
  return Object.freeze({ kind: 'RawNode', sqlFragments, parameters });
}

/** A `Kysely` or a transaction of one. */
export interface Queries {
  executeQuery<R>(query: CompiledQuery<R>): PromiseLike<{ readonly rows: readonly R[] }>;
}

/** Throws unless the column (`invoice.path`) is text that is compared byte by byte; the error says what to run. For the start of a service. */
export async function assertCollation(db: Queries, column: string): Promise<void> {
  const { text, values } = collationQuestion(column);
  const sql = numbered(text);
  const query = { sql, parameters: values, query: rawNode([sql], []), queryId: { queryId: 'bailiwick-collation' } };
  requireByteOrder(column, (await db.executeQuery<CatalogRow>(query)).rows);
}
