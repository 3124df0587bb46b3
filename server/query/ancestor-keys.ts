// The keys under which the indexes of migration 0004 hold a record once for each of its first ancestors: the family, a
// mark if the record is archived, and the ancestor's path. All records of one subtree, and no others, share a key.
import type { Family } from '../../engine/index.js';
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';

/**
 * Subtrees with roots below this depth have no keys. Few roots are that deep, and each level adds an index entry per
 * order to every insert.
 */
export const KEYED_LEVELS = 5;

/**
 * The key of a row called `r` at a level, and the condition that the row lies that deep. Both are written exactly as
 * the index defines them.
 */
export function ancestorKey(level: number): { readonly key: Fragment; readonly exists: Fragment } {
  const segments = Array.from({ length: level }, (_, index) => segment(index + 1));
  const parts = segments.map((text) => sql` || ${text} || '/'`);
  return {
    key: sql`((r.family::text || CASE WHEN r.archived_at IS NULL THEN '/' ELSE '!/' END${join(parts, '')}) COLLATE "C")`,
    exists: level === 0 ? sql`TRUE` : sql`${segment(level)} <> ''`,
  };
}

/** The segment at a depth, empty where the path is shorter. */
function segment(depth: number): Fragment {
  return sql`split_part(r.path, '/', ${literal(depth + 1)})`;
}

/** The keys of subtree roots, as stored paths, in a family. */
export function rootKeys(
  roots: readonly string[],
  { family, includeArchived }: { readonly family: Family; readonly includeArchived: boolean },
): readonly string[] {
  const code = String(familyCode(family));
  const marks = includeArchived ? ['', '!'] : [''];
  return marks.flatMap((mark) => roots.map((root) => `${code}${mark}${root}`));
}
