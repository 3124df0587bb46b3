// What every connection sets: the schema that names are looked up in, and how to plan.
//
// Everything of ours is in one schema of our own, and no other is searched: a table of another application in the same database is
// never taken for ours, whatever its name.
//
// Statements are written so that there is one good plan for each, an ordered walk of index ranges, and the planner's settings keep
// estimates, which know nothing of a fenced range, from choosing another.

export const SCHEMA = 'bailiwick';

/** By the server's names. */
export const PLANNER_SETTINGS: ReadonlyMap<string, string> = new Map([
  // Compiling takes longer than any query of ours, and the estimates of fenced ranges, which are far too high, would ask for it.
  ['jit', 'off'],
  // Each reads and sorts all of a range of which the first rows are wanted, or the whole table.
  ['enable_bitmapscan', 'off'],
  ['enable_seqscan', 'off'],
  // Of an order that an index has except for its ties the planner would sort all of a root that it takes for small.
  ['enable_sort', 'off'],
  // Of a prepared statement: a plan made for the values at hand would be the same one, made again each time.
  ['plan_cache_mode', 'force_generic_plan'],
]);
