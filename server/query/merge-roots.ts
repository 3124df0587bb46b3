// The first visible records in an order that indexes give, merged from the visible roots (server/query/README.md). What
// a page costs depends on the number of roots and the size of the page, and never on anything invisible.
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import { isEverything, type QueryCondition } from './condition.js';
import { firstOfRoots, type QueryNames, type RootMerge } from './first-of-roots.js';
import { runsAfter, type KeyOrder, type Run } from './key-order.js';
import { orderBy, sortColumns, type SortPosition } from './order.js';
import type { QueryPlan } from './plan.js';
import type { RowPredicate } from './row-predicate.js';
import { visibleArms } from './visible-arms.js';

export interface MergeRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: SortPosition | null;
  readonly order: KeyOrder;
  readonly isPartitioned?: boolean;
}

export interface Merged {
  /** The queries of a WITH. */
  readonly queries: Fragment;
  /** A query over them: the records of one page and one more, with their sort keys, in no particular order. */
  readonly rows: Fragment;
}

export function mergedRoots({ predicate, plan, after, order, isPartitioned = false }: MergeRequest): Merged {
  const arms = visibleArms({ ...plan, predicate, isPartitioned });
  const merge: RootMerge = {
    order,
    arms: arms.map((arm) => (arm.counted ? { ...arm, roots: sql`below AS v` } : arm)),
    size: arms.reduce((sum, { size }) => sum + size, 0),
    ordered: sql`ORDER BY ${orderBy(sortColumns(plan.orderBy))}`,
  };
  // The store lists the namespaces below deep roots only once per statement.
  const listings = arms.flatMap(({ counted, roots }) =>
    counted ? [sql`below AS MATERIALIZED (SELECT v.at FROM ${roots})`] : [],
  );
  const pages = runsAfter(order, after).reduce<readonly Page[]>(
    (earlier, run) => [...earlier, pageOf(merge, { plan, run, earlier })],
    [],
  );
  return {
    queries: join([...listings, ...pages.map(({ queries }) => queries)], ', '),
    rows: join(
      pages.map(({ name }) => sql`SELECT * FROM ${name}`),
      ' UNION ALL ',
    ),
  };
}

/** What one run adds to a page: as many records as the page still lacks after the earlier runs. */
interface Page {
  /** The name of the query that holds these records. */
  readonly name: Fragment;
  readonly queries: Fragment;
}

/** If there are more roots than this, a filter is first tried on the records that would come first without it. */
const MANY_ROOTS = 256;

function pageOf(
  merge: RootMerge,
  { plan, run, earlier }: { readonly plan: QueryPlan; readonly run: Run; readonly earlier: readonly Page[] },
): Page {
  const size = plan.page.size + 1;
  const index = literal(earlier.length);
  const name = sql`page${index}`;
  const counts = earlier.map((before) => sql`(SELECT count(*) FROM ${before.name})`);
  const wanted = join([sql`${size}::bigint`, ...counts], ' - ');
  const matching: Matching = { plan, run, index, size, wanted };
  if (!isEverything(plan.where) && merge.size > MANY_ROOTS) return { name, queries: tried(merge, matching, name) };
  return { name, queries: firstMatches(merge, matching, name) };
}

interface Matching {
  readonly plan: QueryPlan;
  readonly run: Run;
  readonly index: Fragment;
  readonly size: number;
  readonly wanted: Fragment;
}

/** The first matches of all roots. */
function firstMatches(merge: RootMerge, { plan, run, index, size, wanted }: Matching, found: Fragment): Fragment {
  const names = { first: sql`first${index}`, edge: sql`edge${index}`, more: sql`more${index}`, found };
  return firstOfRoots(merge, { run, names, condition: plan.where, size, wanted, about: false });
}

const EVERYTHING: QueryCondition = Object.freeze({ kind: 'and', parts: [] });

/**
 * How many records are tried for each record of the page. `FAR` is for more than `FAR_ROOTS` roots, if `NEAR` gave too
 * few matches.
 */
const NEAR = 16;
const FAR = 160;
const FAR_ROOTS = 512;

/**
 * `FAR` is tried only if it promises enough matches: this many times the expected number of them must fill the page.
 */
const HOPE = 2;

/**
 * With many roots, finding the first match of each takes long, and few of those matches are on the page. So the filter
 * is first tried on the records that would come first without it. Only if that gives too few matches does the filter go
 * into the roots. This choice depends on visible records only.
 */
function tried(merge: RootMerge, matching: Matching, name: Fragment): Fragment {
  const { index, wanted } = matching;
  const all = sql`all${index}`;
  const near = windowOf(merge, matching, { of: sql`${index}_near`, perRecord: NEAR });
  const known = sql`SELECT x.* FROM ${near.hits} AS x WHERE NOT ${near.isShort}`;
  if (merge.size <= FAR_ROOTS) {
    return sql`${near.queries},
    ${firstMatches(merge, matching, all)},
    ${name} AS MATERIALIZED (${known}
      UNION ALL SELECT x.* FROM ${all} AS x WHERE ${near.isShort})`;
  }
  const far = windowOf(merge, matching, { of: sql`${index}_far`, perRecord: FAR });
  const hopeful = sql`hopeful${index}`;
  const isHopeful = sql`(SELECT h.hopeful FROM ${hopeful} AS h)`;
  return sql`${near.queries},
    ${hopeful} AS MATERIALIZED (SELECT ${near.isShort}
      AND (SELECT count(*) FROM ${near.hits}) * ${(HOPE * FAR) / NEAR}::bigint >= ${wanted} AS hopeful),
    ${far.queries},
    ${firstMatches(merge, matching, all)},
    ${name} AS MATERIALIZED (${known}
      UNION ALL SELECT x.* FROM ${far.hits} AS x WHERE CASE WHEN ${isHopeful} THEN NOT ${far.isShort} ELSE FALSE END
      UNION ALL SELECT x.* FROM ${all} AS x WHERE CASE WHEN ${isHopeful} THEN ${far.isShort} ELSE ${near.isShort} END)`;
}

interface Window {
  readonly hits: Fragment;
  /** Whether there are too few matches, while the records that were not tried may have more. */
  readonly isShort: Fragment;
  readonly queries: Fragment;
}

interface WindowOf {
  readonly of: Fragment;
  readonly perRecord: number;
}

/** Tries the filter on the records that come first without it. */
function windowOf(merge: RootMerge, { plan, run, size, wanted }: Matching, { of, perRecord }: WindowOf): Window {
  const limit = sql`${perRecord * size}::bigint`;
  const names: QueryNames = {
    first: sql`tried_first${of}`,
    edge: sql`tried_edge${of}`,
    more: sql`tried_more${of}`,
    found: sql`tried${of}`,
  };
  const [hits, short] = [sql`hits${of}`, sql`short${of}`];
  const read = { run, names, condition: EVERYTHING, size: perRecord * size, wanted: limit, about: true };
  return {
    hits,
    isShort: sql`(SELECT s.short FROM ${short} AS s)`,
    queries: sql`${firstOfRoots(merge, read)},
    ${hits} AS MATERIALIZED (SELECT x.* FROM ${names.found} AS x
      WHERE ${compileCondition(plan.where)} ${merge.ordered} LIMIT ${wanted}),
    ${short} AS MATERIALIZED (SELECT (SELECT count(*) FROM ${hits}) < ${wanted}
      AND NOT ((SELECT e.whole FROM ${names.edge} AS e) AND (SELECT count(*) FROM ${names.found}) < ${limit}) AS short)`,
  };
}
