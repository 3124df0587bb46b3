// The first records of a run, merged from the visible roots (server/query/README.md). The range of each root is walked
// in the wanted order, and no further than needed.
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import { isEverything, type QueryCondition } from './condition.js';
import { ID_BYTES, keyColumns, runKey, runOrder, type KeyOrder, type Row, type Run } from './key-order.js';
import type { Arm } from './visible-arms.js';

export interface RootMerge {
  readonly order: KeyOrder;
  /** Arms with `counted` roots read them from the query `below`. */
  readonly arms: readonly Arm[];
  /** About how many roots there are. */
  readonly size: number;
  /** The order of the page, over rows called `x`. */
  readonly ordered: Fragment;
}

/** The names of the queries (CTEs) that find something. `found` is the last of them and holds the result. */
export interface QueryNames {
  readonly first: Fragment;
  readonly edge: Fragment;
  readonly more: Fragment;
  readonly found: Fragment;
}

interface FirstOfRoots {
  readonly run: Run;
  readonly names: QueryNames;
  readonly condition: QueryCondition;
  /** The most records that can be wanted. */
  readonly size: number;
  readonly wanted: Fragment;
  /** If true, fewer records than wanted will do, as long as they are the first ones: finding them soon matters more. */
  readonly about: boolean;
}

/**
 * Up to this many roots, each is read for all the records that are wanted. That is cheaper than finding out how many
 * each contributes.
 */
const FEW_ROOTS = 4;

/**
 * How many records to sample, as a multiple of what is wanted. The factor is lower with a filter, since each match has
 * to be searched for.
 */
const LOOKED_AT = 2;
const LOOKED_FOR = 1.5;

/**
 * If there are many roots, a few records of each are looked at first: the samples, in `first`. The place where the page
 * would end if the samples were all there is, is the edge. No root needs to be read beyond it, and most roots need not
 * be read again at all.
 *
 * The rows of `found` have `arm` and `at` of their root, the columns of a record and its sort keys. The row of `edge`
 * has its `place`, and `whole`: whether nothing of the run lies beyond it.
 */
export function firstOfRoots(merge: RootMerge, asked: FirstOfRoots): Fragment {
  const { order, arms } = merge;
  const { run, condition, size } = asked;
  const { first, edge, more } = asked.names;
  const limit = sql`${size}::bigint`;
  const records = ({ name }: Row): Fragment => sql`${name}.*, ${keyColumns(order, name)}`;
  if (merge.size <= FEW_ROOTS) {
    return found(
      merge,
      asked,
      arms.map((arm, number) => rowsOf(merge, asked, { arm, number, limit, columns: records })),
    );
  }

  const searched = !isEverything(condition);
  const share = shareOf(merge, (searched ? LOOKED_FOR : LOOKED_AT) * size);
  // With a filter the samples are whole records: matches are costly to find, so they are kept, and only what is missing
  // is read again. Without a filter the samples are only keys, because very many roots have very many rows.
  const columns = searched ? records : ({ name }: Row): Fragment => keyColumns(order, name);
  const samples = arms.map((arm, number) => rowsOf(merge, asked, { arm, number, limit: share, columns }));
  const { output, isUpTo, reaches, end } = runKey(order, run);
  const place = sql`(SELECT e.place FROM ${edge} AS e)`;
  const reached = isUpTo(sql`x.${output}`, place);
  const rest = arms.map((arm, number) => {
    const roots = sql`(SELECT m.at FROM ${more} AS m WHERE m.arm = ${literal(number)}) AS v`;
    const upToEdge = { ...arm, roots, within: sql`${arm.within} AND ${reaches(place)}` };
    return rowsOf(merge, asked, { arm: upToEdge, number, limit, columns: records });
  });
  const kept = sql`SELECT x.* FROM ${first} AS x WHERE ${reached}
      AND (x.arm, x.at) NOT IN (SELECT m.arm, m.at FROM ${more} AS m)`;
  return sql`${first} AS MATERIALIZED (${join(samples, ' UNION ALL ')}),
    ${edge} AS MATERIALIZED (SELECT COALESCE(p.place, ${end}) AS place, p.place IS NULL AS whole
      FROM (SELECT (SELECT x.${output} FROM ${first} AS x ${merge.ordered} OFFSET ${edgeOf(asked, share)} LIMIT 1) AS place OFFSET 0) AS p),
    ${more} AS MATERIALIZED (SELECT x.arm, x.at FROM ${first} AS x WHERE ${reached}
      GROUP BY x.arm, x.at${searched ? sql` HAVING count(*) = ${share}` : sql``}),
    ${found(merge, asked, searched ? [kept, ...rest] : rest)}`;
}

function found({ ordered }: RootMerge, { names, wanted }: FirstOfRoots, rows: readonly Fragment[]): Fragment {
  return sql`${names.found} AS MATERIALIZED (SELECT x.* FROM (${join(rows, ' UNION ALL ')}) AS x
      ${ordered} LIMIT ${wanted})`;
}

/** How many records to look at in each root, so that all roots together give about `records`. */
function shareOf({ arms, size }: RootMerge, records: number): Fragment {
  if (!arms.some(({ counted }) => counted)) return sql`${Math.ceil(records / size)}::bigint`;
  const listed = arms.reduce((sum, arm) => sum + (arm.counted ? 0 : arm.size), 0);
  return sql`(SELECT ceil(${records}::numeric / greatest(count(*) + ${listed}::bigint, 1))::bigint FROM below)`;
}

/**
 * How many samples stand before the edge. If there are too few samples, there is no edge, and the roots are read until
 * nothing more is wanted. With `about`, the edge is then put at half of the samples: the roots are likely to have
 * little more than the samples before it.
 */
function edgeOf({ names, size, about }: FirstOfRoots, share: Fragment): Fragment {
  const last = sql`${size - 1}::bigint`;
  if (!about) return last;
  return sql`CASE WHEN (SELECT count(*) FROM ${names.first}) >= ${size}::bigint THEN ${last} ELSE
        (SELECT CASE WHEN bool_or(s.n = ${share}) THEN sum(s.n)::bigint / 2 ELSE ${last} END
          FROM (SELECT count(*) AS n FROM ${names.first} AS x GROUP BY x.arm, x.at) AS s) END`;
}

interface Rows {
  readonly arm: Arm;
  readonly number: number;
  readonly limit: Fragment;
  /** The columns to select from a row. */
  readonly columns: (row: Row) => Fragment;
}

/**
 * The first records of each root of an arm, in the order of its index range. The range is read only as far as needed.
 */
function rowsOf(
  { order }: RootMerge,
  { run, condition }: FirstOfRoots,
  { arm, number, limit, columns }: Rows,
): Fragment {
  const range = sql`SELECT r.*, ${ID_BYTES} AS id_bytes FROM records AS r WHERE ${arm.within} AND ${run.where}
          ORDER BY ${runOrder(order, run, { name: sql`r`, idBytes: ID_BYTES })}`;
  const x: Row = { name: sql`x`, idBytes: sql`x.id_bytes` };
  // OFFSET 0 is the fence.
  const rows = isEverything(condition)
    ? sql`SELECT ${columns(x)} FROM (${range} LIMIT ${limit}) AS x`
    : sql`SELECT ${columns(x)} FROM (${range} OFFSET 0) AS x WHERE ${compileCondition(condition)}
        ORDER BY ${runOrder(order, run, x)} LIMIT ${limit}`;
  return sql`SELECT ${literal(number)} AS arm, v.at, f.* FROM ${arm.roots} CROSS JOIN LATERAL (${rows}) AS f`;
}
