// What a store needs after many records came in at once: statistics for the planner, and the map that lets queries
// answer from indexes alone. A server does this by itself some time later; the embedded engine never does.
import type { Database } from '../db/database.js';
import { LOAD_LIMITS } from '../limits/records.js';
import type { LoadCounts } from './load-dataset.js';

export function isWorthTidying({ loaded, replaced }: LoadCounts): boolean {
  return loaded + replaced >= LOAD_LIMITS.tidyFrom;
}

/** Does not keep anybody from reading or writing, except on the embedded engine, where everybody waits. */
export async function tidyStore(db: Database): Promise<void> {
  await db.knex.raw('VACUUM (ANALYZE) records, record_counts');
}
