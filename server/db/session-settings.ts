// What every connection sets: the schema in which names are looked up, and how to plan.
//
// Everything of ours is in a schema of our own, and no other schema is searched. So a table of another application in
// the same database is never taken for ours, whatever its name.
//
// Statements are written so that each has one good plan, an ordered walk of index ranges. The planner's estimates know
// nothing about a fenced range. These settings keep them from choosing another plan.

import { sql } from './sql.js';

export const SCHEMA = 'bailiwick';

/** By the server's names. */
export const PLANNER_SETTINGS: ReadonlyMap<string, string> = new Map([
  // Compiling takes longer than any query of ours, and the far too high estimates of fenced ranges would trigger it.
  ['jit', 'off'],
  // Each of these reads and sorts a whole range, or the whole table, where only the first rows are wanted.
  ['enable_bitmapscan', 'off'],
  ['enable_seqscan', 'off'],
  // If an index gives an order except for its ties, the planner would sort all of a root that it believes to be small.
  ['enable_sort', 'off'],
  // For prepared statements. A plan for the actual values would be the same plan, made again each time.
  ['plan_cache_mode', 'force_generic_plan'],
]);

/**
 * For one transaction: how to plan a statement that reads whole ranges and needs no order. A bitmap of the entries of all
 * ranges fetches each page of the table once, in the order of the table. Nothing else is left to the planner. No range is
 * read twice, so nothing of one is memoized.
 *
 * A bitmap that outgrows `work_mem` forgets which records of a page it means, and then tests all of them. At this size
 * that happens beyond ten million visible records.
 */
export const WHOLE_RANGES = sql`SELECT set_config('enable_bitmapscan', 'on', true), set_config('enable_indexscan', 'off', true),
  set_config('enable_memoize', 'off', true), set_config('max_parallel_workers_per_gather', '0', true),
  set_config('work_mem', greatest(pg_size_bytes(current_setting('work_mem')) / 1024, 32768) || 'kB', true)`;
