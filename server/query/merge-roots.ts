// The first visible records in an order that indexes give, merged from the visible roots (server/query/README.md). In each root
// its range is walked in the wanted order and no further than the page takes, so that what a page costs follows from the
// number of roots and the size of the page, and from nothing that is invisible.
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import { isEverything, type Condition } from './condition.js';
import { ID_BYTES, keyColumns, runKey, runOrder, runsAfter, type KeyOrder, type Row, type Run } from './key-order.js';
import { orderBy, sortColumns, type Position } from './order.js';
import type { QueryPlan } from './plan.js';
import type { RowPredicate } from './row-predicate.js';
import { visibleArms, type Arm } from './visible-arms.js';

export interface MergeRequest {
  readonly predicate: RowPredicate;
  readonly plan: QueryPlan;
  readonly after: Position | null;
  readonly order: KeyOrder;
}

export interface Merged {
  /** The queries of a WITH. */
  readonly queries: Fragment;
  /** Over them: the records of one page and one more with their sort keys, in no order. */
  readonly rows: Fragment;
}

interface Merge {
  readonly plan: QueryPlan;
  readonly order: KeyOrder;
  readonly arms: readonly Arm[];
  readonly ordered: Fragment;
}

export function mergedRoots({ predicate, plan, after, order }: MergeRequest): Merged {
  const arms = visibleArms({ ...plan, predicate });
  const merge = { plan, order, arms, ordered: sql`ORDER BY ${orderBy(sortColumns(plan.orderBy))}` };
  const runs = runsAfter(order, after);
  return {
    queries: join(
      runs.map((run, index) => mergedRun(merge, run, index)),
      ', ',
    ),
    rows: join(
      runs.map((_, index) => sql`SELECT * FROM ${called('page', index)}`),
      ' UNION ALL ',
    ),
  };
}

/** With more roots than these a filter is tried first on the records that would come first without it. */
const MANY_ROOTS = 256;

/** So many of them for each of the page. */
const WINDOW = 16;

const EVERYTHING: Condition = Object.freeze({ kind: 'and', parts: [] });

/** The queries of one run, the last of them called `page`: as many records as the runs before it leave the page short of. */
function mergedRun(merge: Merge, run: Run, index: number): Fragment {
  const { plan, arms, ordered } = merge;
  const size = plan.page.size + 1;
  const earlier = Array.from({ length: index }, (_, before) => sql`(SELECT count(*) FROM ${called('page', before)})`);
  const wanted = join([sql`${size}::bigint`, ...earlier], ' - ');
  const matching = { run, index, condition: plan.where, size, wanted };
  if (isEverything(plan.where) || sizeOf(arms) <= MANY_ROOTS) return firstOfRoots(merge, { ...matching, name: 'page' });

  // The first match of each of many roots takes long to find, and few of them are on the page.
  const window = WINDOW * size;
  const [tried, hits, short, all] = [
    called('tried', index),
    called('hits', index),
    called('short', index),
    called('all', index),
  ];
  const isShort = sql`(SELECT s.short FROM ${short} AS s)`;
  return sql`${firstOfRoots(merge, { ...matching, name: 'tried', condition: EVERYTHING, size: window, wanted: sql`${window}::bigint` })},
    ${hits} AS MATERIALIZED (SELECT x.* FROM ${tried} AS x
      WHERE ${compileCondition(plan.where)} ${ordered} LIMIT ${wanted}),
    ${short} AS MATERIALIZED (SELECT (SELECT count(*) FROM ${hits}) < ${wanted}
      AND (SELECT count(*) FROM ${tried}) = ${window}::bigint AS short),
    ${firstOfRoots(merge, { ...matching, name: 'all' })},
    ${called('page', index)} AS MATERIALIZED (SELECT x.* FROM ${hits} AS x WHERE NOT ${isShort}
      UNION ALL SELECT x.* FROM ${all} AS x WHERE ${isShort})`;
}

interface FirstOfRoots {
  readonly run: Run;
  readonly index: number;
  /** What the last of the queries is called. */
  readonly name: 'page' | 'tried' | 'all';
  readonly condition: Condition;
  /** Records that are wanted at most, and how many in truth. */
  readonly size: number;
  readonly wanted: Fragment;
}

/** Roots from which all that is wanted is read at once: cheaper than finding out how much of it each of them has. */
const FEW_ROOTS = 4;

/**
 * The first records of a run. Of many roots a few records each are looked at first: as soon as these would be enough, no root
 * needs to be read beyond the place where they would end, and most not at all.
 */
function firstOfRoots({ order, arms, ordered }: Merge, asked: FirstOfRoots): Fragment {
  const { run, index, name, size, wanted } = asked;
  const limit = sql`${size}::bigint`;
  const result = (rows: readonly Fragment[]): Fragment =>
    sql`${called(name, index)} AS MATERIALIZED (SELECT x.* FROM (${join(rows, ' UNION ALL ')}) AS x
      ${ordered} LIMIT ${wanted})`;
  const whole = (arm: Arm, roots: Fragment, where: Fragment): Fragment => {
    const columns = (row: Fragment): Fragment => sql`${row}.*, ${keyColumns(order, row)}`;
    const rows = firstOfRoot(order, { ...asked, columns, where: sql`${arm.within} AND ${where}`, limit });
    return sql`SELECT f.* FROM ${roots} CROSS JOIN LATERAL (${rows}) AS f`;
  };
  if (sizeOf(arms) <= FEW_ROOTS) return result(arms.map((arm) => whole(arm, arm.roots, sql`TRUE`)));

  const [first, edge] = [called(FIRST[name], index), called(EDGE[name], index)];
  const share = sql`${Math.ceil((2 * size) / sizeOf(arms))}::bigint`;
  const samples = arms.map(({ roots, within }, number) => {
    const columns = (row: Fragment): Fragment => keyColumns(order, row);
    const rows = firstOfRoot(order, { ...asked, columns, where: within, limit: share });
    return sql`SELECT ${literal(number)} AS arm, v.at, f.* FROM ${roots} CROSS JOIN LATERAL (${rows}) AS f`;
  });
  const { output, isUpTo, reaches, end } = runKey(order, run);
  const place = sql`(SELECT e.place FROM ${edge} AS e)`;
  const rows = arms.map((arm, number) => {
    const reaching = sql`(SELECT DISTINCT x.at FROM ${first} AS x
        WHERE x.arm = ${literal(number)} AND ${isUpTo(sql`x.${output}`, place)}) AS v`;
    return whole(arm, reaching, reaches(place));
  });
  return sql`${first} AS MATERIALIZED (${join(samples, ' UNION ALL ')}),
    ${edge} AS MATERIALIZED (SELECT COALESCE((SELECT x.${output} FROM ${first} AS x
      ${ordered} OFFSET ${size - 1}::bigint LIMIT 1), ${end}) AS place),
    ${result(rows)}`;
}

interface FirstOfRoot {
  readonly run: Run;
  readonly condition: Condition;
  /** Of a row of that name. */
  readonly columns: (row: Fragment) => Fragment;
  /** Of a record called `r`: nothing that a user says. */
  readonly where: Fragment;
  readonly limit: Fragment;
}

/** The first records of one root, in the order of its index range, which is read as far as that takes. */
function firstOfRoot(order: KeyOrder, { run, condition, columns, where, limit }: FirstOfRoot): Fragment {
  const range = sql`SELECT r.*, ${ID_BYTES} AS id_bytes FROM records AS r WHERE ${where} AND ${run.where}
          ORDER BY ${runOrder(order, run, { name: sql`r`, idBytes: ID_BYTES })}`;
  const x: Row = { name: sql`x`, idBytes: sql`x.id_bytes` };
  if (isEverything(condition)) return sql`SELECT ${columns(x.name)} FROM (${range} LIMIT ${limit}) AS x`;
  // OFFSET 0 is the fence.
  return sql`SELECT ${columns(x.name)} FROM (${range} OFFSET 0) AS x WHERE ${compileCondition(condition)}
        ORDER BY ${runOrder(order, run, x)} LIMIT ${limit}`;
}

function sizeOf(arms: readonly Arm[]): number {
  return arms.reduce((sum, { size }) => sum + size, 0);
}

type QueryName = 'page' | 'tried' | 'hits' | 'short' | 'all' | 'first' | 'edge' | 'tried_first' | 'tried_edge';

const FIRST = Object.freeze({ page: 'first', all: 'first', tried: 'tried_first' } as const);
const EDGE = Object.freeze({ page: 'edge', all: 'edge', tried: 'tried_edge' } as const);

/** The name of a query of a run. */
function called(what: QueryName, index: number): Fragment {
  return sql`${QUERY_NAMES[what]}${literal(index)}`;
}

const QUERY_NAMES: Readonly<Record<QueryName, Fragment>> = Object.freeze({
  page: sql`page`,
  tried: sql`tried`,
  hits: sql`hits`,
  short: sql`short`,
  all: sql`all_`,
  first: sql`first`,
  edge: sql`edge`,
  tried_first: sql`tried_first`,
  tried_edge: sql`tried_edge`,
});
