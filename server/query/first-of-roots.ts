// The first records of a run, merged from the visible roots (server/query/README.md): in each root its range is walked in the wanted
// order and no further than what is wanted takes.
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { compileCondition } from './compile-condition.js';
import { isEverything, type Condition } from './condition.js';
import { ID_BYTES, keyColumns, runKey, runOrder, type KeyOrder, type Row, type Run } from './key-order.js';
import type { Arm } from './visible-arms.js';

export interface Merge {
  readonly order: KeyOrder;
  /** Those whose roots the store lists read them from `below`. */
  readonly arms: readonly Arm[];
  /** About how many roots there are. */
  readonly size: number;
  /** The order of the page, over rows called `x`. */
  readonly ordered: Fragment;
}

/** The names of the queries that find something, the last of them what it is found in. */
export interface QueryNames {
  readonly first: Fragment;
  readonly edge: Fragment;
  readonly more: Fragment;
  readonly found: Fragment;
}

interface FirstOfRoots {
  readonly run: Run;
  readonly names: QueryNames;
  readonly condition: Condition;
  /** Records that are wanted at most, and how many in truth. */
  readonly size: number;
  readonly wanted: Fragment;
  /** The records that are found must be the first ones. That they are found soon matters more than how many they are. */
  readonly about: boolean;
}

/** Roots from which all that is wanted is read at once: cheaper than finding out how much of it each of them has. */
const FEW_ROOTS = 4;

/** So many times what is wanted is looked at: with a filter less, as each of these has to be searched for. */
const LOOKED_AT = 2;
const LOOKED_FOR = 1.5;

/**
 * Of many roots a few records each are looked at first: as soon as these would be enough, no root needs to be read beyond the place
 * where they would end, and most not at all. The last of the queries has `arm` and `at` of a root, the columns of a record, and
 * those of its sort keys. That of the edge tells its `place`, and whether nothing is beyond it: `whole`.
 */
export function firstOfRoots(merge: Merge, asked: FirstOfRoots): Fragment {
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
  // What was searched for is kept, and only what is missing read anew. Else keys are enough: very many roots have very many rows.
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

function found({ ordered }: Merge, { names, wanted }: FirstOfRoots, rows: readonly Fragment[]): Fragment {
  return sql`${names.found} AS MATERIALIZED (SELECT x.* FROM (${join(rows, ' UNION ALL ')}) AS x
      ${ordered} LIMIT ${wanted})`;
}

/** How many records of each root are looked at, so that all roots together give about this many. */
function shareOf({ arms, size }: Merge, records: number): Fragment {
  if (!arms.some(({ counted }) => counted)) return sql`${Math.ceil(records / size)}::bigint`;
  const listed = arms.reduce((sum, arm) => sum + (arm.counted ? 0 : arm.size), 0);
  return sql`(SELECT ceil(${records}::numeric / greatest(count(*) + ${listed}::bigint, 1))::bigint FROM below)`;
}

/**
 * How many of the samples stand before the edge. Where they are too few for one the roots are read to the end of what is wanted; if
 * that is not so important, up to a place before which they are likely to have little more.
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
  /** Of a row. */
  readonly columns: (row: Row) => Fragment;
}

/** The first records of each root of an arm, in the order of its index range, which is read as far as that takes. */
function rowsOf({ order }: Merge, { run, condition }: FirstOfRoots, { arm, number, limit, columns }: Rows): Fragment {
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
