// Which namespaces a store has: those that were described, and those that are there because something is below them.
import type { NamespacePath } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { LOAD_LIMITS } from '../limits.js';
import { rowsOf, sql } from '../db/sql.js';
import { familyCode, storedPath } from '../db/tables.js';

/** Of these namespaces, those that the store has; archived ones are there too. */
export async function storedNamespaces(
  db: Database,
  namespaces: readonly NamespacePath[],
): Promise<ReadonlySet<NamespacePath>> {
  const byStored = new Map(namespaces.map((path) => [storedPath(path), path]));
  const wanted = [...byStored.keys()];
  const found = new Set<NamespacePath>();
  for (let start = 0; start < wanted.length; start += LOAD_LIMITS.askedNamespaces) {
    const rows = await rowsOf<{ readonly path: string }>(
      db.knex,
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
