// Which namespaces a store has: those that were described, and those that exist because something is below them.
import { canonicalize, lineageOf, type NamespacePath, nearest } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { LOAD_LIMITS } from '../limits/records.js';
import { sql } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';

/** Which of these namespaces the store has. Archived ones count. */
export async function storedNamespaces(
  db: Database,
  namespaces: readonly NamespacePath[],
): Promise<ReadonlySet<NamespacePath>> {
  const byStored = new Map(namespaces.map((path) => [storedPath(path), path]));
  const wanted = [...byStored.keys()];
  const found = new Set<NamespacePath>();
  for (let start = 0; start < wanted.length; start += LOAD_LIMITS.askedNamespaces) {
    const rows = await db.rows<{ readonly path: string }>(
      sql`SELECT path FROM records WHERE family = ${familyCode('namespace')}::smallint
        AND path = ANY(${wanted.slice(start, start + LOAD_LIMITS.askedNamespaces)}::text[])`,
    );
    for (const { path } of rows) {
      const namespace = byStored.get(path);
      if (namespace !== undefined) found.add(namespace);
    }
  }
  return found;
}

/**
 * Stored namespaces that may have been meant by those of the given ones that do not exist. Each differs in one segment.
 */
export async function meantNamespaces(
  db: Database,
  namespaces: readonly NamespacePath[],
  stored: ReadonlySet<NamespacePath>,
): Promise<ReadonlySet<NamespacePath>> {
  const missing = namespaces.filter((path) => !stored.has(path)).slice(0, LOAD_LIMITS.guessedNamespaces);
  const above = await storedNamespaces(db, [...new Set(missing.flatMap((path) => lineageOf(path)))]);
  const guesses = new Set<NamespacePath>();
  for (const path of missing) {
    const lineage = lineageOf(path);
    // The first missing segment of the path is the misspelled one.
    const first = lineage.findIndex((one) => !above.has(one));
    const [parent, wrong] = [lineage[first - 1], lineage[first]];
    if (parent === undefined || wrong === undefined) continue;
    const near = nearest(lastSegment(wrong), (await childrenOf(db, parent)).map(lastSegment));
    const guess =
      near === null ? null : canonicalize(`${parent}/${near}${path.slice(wrong.length)}`.replace('//', '/'));
    if (guess?.ok === true) guesses.add(guess.path);
  }
  return storedNamespaces(db, [...guesses]);
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The first few children, in the order of their paths. */
async function childrenOf(db: Database, parent: NamespacePath): Promise<readonly string[]> {
  const start = storedPath(parent);
  const rows = await db.rows<{ readonly path: string }>(
    sql`SELECT path FROM records WHERE family = ${familyCode('namespace')}::smallint
      AND path > ${start}::text AND path < ${`${start.slice(0, -1)}0`}::text
      AND strpos(substr(path, ${start.length + 1}::int), '/') = length(path) - ${start.length}::int
      ORDER BY path LIMIT ${LOAD_LIMITS.siblings}::int`,
  );
  return rows.map(({ path }) => path.slice(0, -1));
}
