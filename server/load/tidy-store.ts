// What a store needs after many records came in at once: statistics for the planner, and the map that lets queries answer from
// indexes alone. A server does so by itself some time later, the embedded engine never.
import type { Database } from '../db/database.js';
import { LOAD_LIMITS } from '../limits/records.js';
import type { LoadCounts } from './load-dataset.js';

export function isWorthTidying({ loaded, replaced }: LoadCounts): boolean {
  return loaded + replaced >= LOAD_LIMITS.tidyFrom;
}

/** Stops nobody from reading or writing, but on the embedded engine all others wait. */
export async function tidyStore(db: Database): Promise<void> {
  await db.knex.raw('VACUUM (ANALYZE) records, record_counts');
}
