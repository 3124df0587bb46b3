// The statement that reads the feed: the next changes of what is visible, merged from the visible roots, with the place
// where the feed ends. What it costs depends on the number of roots and the size of the answer, and never on what
// happened elsewhere (server/query/README.md "The feed of changes").
import { join, literal, sql, type Fragment } from '../db/sql.js';
import { orTooLate } from '../query/compile-condition.js';
import { changeCode } from './change-kinds.js';
import { allRanges, type ChangeArm, changeArms, type Predicates } from './change-keys.js';

export interface ChangesRequest {
  readonly predicates: Predicates;
  readonly after: { readonly position: number; readonly mark: number; readonly since: number };
  readonly limit: number;
  /** For how many milliseconds a cursor is good. */
  readonly keep: number;
  /** Milliseconds after which the statement ends itself; null if the store ends it. */
  readonly longest: number | null;
}

/** All rows have the same `head`, `mark` and `intact`; one without `position` stands for an empty answer. */
export interface FeedRow extends HeadRow {
  /** Whether what follows the cursor is still there, and is what followed it before. */
  readonly intact: boolean;
  /** The text of a bigint. */
  readonly position: string | null;
  readonly own_mark: number;
  /** The text of a bigint: the instant at which the change got its place. */
  readonly own_since: string;
  readonly change: number;
  readonly family: number;
  readonly id: string;
  readonly path: string;
  /** The other place of a record that was moved, if it is visible. */
  readonly other: string | null;
  readonly revision: number;
  readonly at: string;
}

export interface HeadRow {
  /** The text of a bigint: the last position of the feed. */
  readonly head: string;
  readonly mark: number;
  /** The text of a bigint: the instant by the clock of the store, which is the only one that the feed goes by. */
  readonly now: string;
  /** Whether something waits for its place. */
  readonly pending: boolean;
}

const NOW = sql`(EXTRACT(EPOCH FROM statement_timestamp()) * 1000)::bigint`;

const PENDING = sql`EXISTS (SELECT 1 FROM changes_pending) AS pending`;

/** Where the feed ends. */
export function headStatement(): Fragment {
  return sql`SELECT h.position::text AS head, h.mark, ${NOW}::text AS now, ${PENDING} FROM changes_head AS h WHERE h.one = ${true}::boolean`;
}

/**
 * The last place that was given more than `lag` milliseconds ago: whatever stands there or before it is on every replica that may answer
 * from now on. Places have no gaps and their times only rise, so it is searched for by halves, and what that costs tells nothing about
 * how much has happened since.
 */
export function settledStatement(lag: number): Fragment {
  const old = sql`(SELECT c.numbered_at < statement_timestamp() - ${lag}::bigint * interval '1 millisecond' FROM changes AS c
      WHERE int8send(c.position) = int8send((s.lo + s.hi + 1) / 2))`;
  return sql`WITH RECURSIVE search (lo, hi) AS (
      SELECT h.floor, h.position FROM changes_head AS h WHERE h.one = ${true}::boolean
      UNION ALL SELECT CASE WHEN t.old THEN t.middle ELSE t.lo END, CASE WHEN t.old THEN t.hi ELSE t.middle - 1 END
      FROM (SELECT s.lo, s.hi, (s.lo + s.hi + 1) / 2 AS middle, ${old} AS old FROM search AS s WHERE s.lo < s.hi) AS t)
    SELECT s.lo::text AS head, CASE WHEN s.lo = h.floor THEN h.floor_mark
        ELSE (SELECT c.mark FROM changes AS c WHERE int8send(c.position) = int8send(s.lo)) END AS mark,
      ${NOW}::text AS now, FALSE AS pending
    FROM search AS s CROSS JOIN changes_head AS h WHERE s.lo >= s.hi AND h.one = ${true}::boolean`;
}

/** With more roots than this, it is first found out how far each has to be read. */
const FEW_ROOTS = 8;

export function changesStatement({ predicates, after, limit, keep, longest }: ChangesRequest): Fragment {
  // Looked at for each root and for each change, as neither says how many there are of the other.
  const inTime = (condition: Fragment): Fragment => (longest === null ? condition : orTooLate(longest, condition));
  const { arms, queries, size } = changeArms(predicates, inTime);
  const from = sql`c.position > ${after.position}::bigint`;
  const shown = inTime(SHOWN);
  const reached = longest === null ? sql`` : sql` WHERE ${inTime(sql`v.at IS NOT NULL`)}`;
  const rows = (arm: ChangeArm, { columns, upTo, most }: ChangeRead): Fragment =>
    sql`CROSS JOIN LATERAL (SELECT ${columns} FROM changes AS c WHERE ${arm.within} AND ${from}${upTo} AND ${shown}
          ORDER BY c.position LIMIT ${most}::bigint) AS f${reached}`;
  const found =
    size <= FEW_ROOTS
      ? join(
          arms.map((arm) => sql`SELECT f.* FROM ${arm.roots} ${rows(arm, { columns: ALL, upTo: sql``, most: limit })}`),
          ' UNION ALL ',
        )
      : null;
  const share = Math.ceil((2 * limit) / size) + 1;
  const first = arms.map(
    (arm, number) =>
      sql`SELECT ${literal(number)} AS arm, ${rootOf(arm)}, f.position FROM ${arm.roots} ${rows(arm, { columns: sql`c.position`, upTo: sql``, most: share })}`,
  );
  const second = arms.map(
    (arm, number) =>
      sql`SELECT f.* FROM (SELECT DISTINCT x.family, x.at FROM first AS x, edge AS e WHERE x.arm = ${literal(number)}
          AND x.position <= e.position) AS v
        ${rows(arm, { columns: ALL, upTo: sql` AND c.position <= (SELECT e.position FROM edge AS e)`, most: limit })}`,
  );
  // The page ends at the last of the first samples or before: all of them are on it or behind its end.
  const phases =
    found === null
      ? sql`first AS MATERIALIZED (${join(first, ' UNION ALL ')}),
    edge AS MATERIALIZED (SELECT COALESCE((SELECT x.position FROM first AS x ORDER BY x.position OFFSET ${limit - 1}::bigint LIMIT 1),
        9223372036854775807) AS position),
    found AS MATERIALIZED (${join(second, ' UNION ALL ')})`
      : sql`found AS MATERIALIZED (${found})`;
  return sql`WITH RECURSIVE ${join([sql`ranges (family, lo, hi) AS MATERIALIZED (${allRanges(predicates)})`, ...queries, phases], ', ')},
    page AS MATERIALIZED (SELECT x.* FROM found AS x ORDER BY x.position LIMIT ${limit}::bigint),
    head AS MATERIALIZED (SELECT h.position AS head, h.mark, ${PENDING}, ${NOW} AS now, ${intact(after, keep)} AS intact
      FROM changes_head AS h WHERE h.one = ${true}::boolean)
    SELECT h.head::text AS head, h.mark, h.now::text AS now, h.pending, h.intact, p.position::text AS position, p.mark AS own_mark,
      (EXTRACT(EPOCH FROM p.numbered_at) * 1000)::bigint::text AS own_since, p.change, p.family,
      p.id::text AS id, p.path, CASE WHEN p.change = ${literal(changeCode('moved'))} AND ${otherIsVisible(sql`p`)} THEN p.other END AS other,
      p.revision, to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
    FROM head AS h LEFT JOIN page AS p ON h.intact ORDER BY p.position`;
}

interface ChangeRead {
  readonly columns: Fragment;
  readonly upTo: Fragment;
  readonly most: number;
}

const ALL = sql`c.position, c.mark, c.change, c.family, c.id, c.path, c.other, c.revision, c.at, c.numbered_at`;

/** Whoever sees both places of a record that was moved sees one change. */
const SHOWN = sql`CASE WHEN c.change = ${literal(changeCode('departed'))} THEN NOT ${otherIsVisible(sql`c`)} ELSE TRUE END`;

function otherIsVisible(row: Fragment): Fragment {
  return sql`EXISTS (SELECT 1 FROM ranges AS w WHERE w.family = ${row}.family AND ${row}.other >= w.lo AND ${row}.other < w.hi)`;
}

function rootOf({ columns }: ChangeArm): Fragment {
  return columns.length === 2 ? sql`v.family::smallint AS family, v.at` : sql`NULL::smallint AS family, v.at`;
}

/**
 * The change that a cursor names is there with the same mark, or was the last one that was removed. Otherwise changes
 * may be missing between it and the next. How old the cursor may be depends on nothing but the cursor: what is removed
 * meanwhile, and when, tells how much has happened.
 */
function intact({ position, mark, since }: ChangesRequest['after'], keep: number): Fragment {
  return sql`CASE WHEN ${since}::bigint < ${NOW} - ${keep}::bigint THEN FALSE
      WHEN ${position}::bigint = h.floor THEN ${mark}::integer = h.floor_mark WHEN ${position}::bigint < h.floor THEN FALSE
      ELSE EXISTS (SELECT 1 FROM changes AS c WHERE int8send(c.position) = int8send(${position}::bigint) AND c.mark = ${mark}::integer) END`;
}
