// The stored form of a record: family codes, stored paths, the instants that fit. What SQL knows about names and codes
// is defined only here. Migrations are frozen history and spell theirs out.
import { FAMILIES, type Family, type NamespacePath } from '../../engine/index.js';
import { sql, type Fragment } from './sql.js';

const FAMILY_CODES: ReadonlyMap<Family, number> = new Map(FAMILIES.map((family, code) => [family, code]));

/** The `smallint` of `records.family`: its index in the order of docs/meaning.md "Families and scopes". */
export function familyCode(family: Family): number {
  const code = FAMILY_CODES.get(family);
  if (code === undefined) throw new RangeError('a family without a code');
  return code;
}

/** Whether records of the family are made from templates, which may ask for unique names. A template's own name is never unique. */
export function isNamed(family: Family): boolean {
  return family === 'resource' || family === 'process-run';
}

/** The same of a column with the code of a family. */
export const IS_NAMED: Fragment = sql`IN (2, 4)`;

/** Namespaces are stored with a closing slash, so that a subtree is one range in byte order: `/`, `/labs/optics/`. */
export function storedPath(path: NamespacePath): string {
  return path === '/' ? '/' : `${path}/`;
}

/**
 * True of every record, whose columns are those of `of`. No index has the revision, so none but the primary key finds a
 * record by its id: while the store is small, reading another one from end to end looks as cheap to the planner, and the
 * plan stays when the store has grown.
 */
export function outsideIndexes(of: Fragment): Fragment {
  return sql`${of}.revision > 0`;
}

/** The index that keeps unique names apart. */
export const UNIQUE_NAME = 'records_unique_name';

/**
 * The first instant that can be stored, in milliseconds since 1970: PostgreSQL has no year 0. The last instant of all
 * can be stored.
 */
export const FIRST_STORED = Date.parse('0001-01-01T00:00:00.000Z');
