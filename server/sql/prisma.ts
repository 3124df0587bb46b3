// The door for Prisma's raw queries. It imports nothing: a fragment can only be made by the `Prisma.sql` of your own client.
import type { Visibility } from '../../engine/index.js';
import { collationQuestion, numbered, requireByteOrder, type CatalogRow } from './collation.js';
import { type BoundValue, predicate, quoteNames } from './predicate.js';

/** `Prisma.sql`: strings and values to a fragment that `$queryRaw`, `$executeRaw` and other fragments take. */
export type Tag<Fragment> = (strings: readonly string[], ...values: readonly unknown[]) => Fragment;

/**
 * The condition that a row's namespace is in the set, as a fragment:
 * `$queryRaw(Prisma.sql\`SELECT id FROM invoice WHERE ${visibleWhere(set, 'path', Prisma.sql)}\`)`. `column` is a name, quoted here,
 * or a value in its place.
 */
export function visibleWhere<Fragment>(set: Visibility, column: string | BoundValue, tag: Tag<Fragment>): Fragment {
  const { strings, holes } = predicate(set);
  // Names cannot be bound: they are part of the strings, and only values are left between those.
  const words: string[] = [strings[0] ?? ''];
  const values: unknown[] = [];
  for (const [i, hole] of holes.entries()) {
    const next = strings[i + 1] ?? '';
    if (hole.kind === 'column' && typeof column === 'string') {
      words.push(`${words.pop() ?? ''}${quoteNames(column)}${next}`);
      continue;
    }
    values.push(hole.kind !== 'column' ? hole.value : typeof column === 'object' ? column.value : column);
    words.push(next);
  }
  return tag(words, ...values);
}

/** A `PrismaClient` or the client of a transaction. */
export interface Queries {
  $queryRawUnsafe<Result>(text: string, ...values: unknown[]): PromiseLike<Result>;
}

/** Throws unless the column (`invoice.path`) is text that is compared byte by byte; the error says what to run. For the start of a service. */
export async function assertCollation(db: Queries, column: string): Promise<void> {
  const { text, values } = collationQuestion(column);
  requireByteOrder(column, await db.$queryRawUnsafe<readonly CatalogRow[]>(numbered(text), ...values));
}
