// What every connection sets: the schema in which names are looked up, and how to plan.
//
// Everything of ours is in a schema of our own, and no other schema is searched. So a table of another application in
// the same database is never taken for ours, whatever its name.
//
// Statements are written so that each has one good plan, an ordered walk of index ranges. The planner's estimates know
// nothing about a fenced range. These settings keep them from choosing another plan.

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
