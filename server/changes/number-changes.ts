// Gives pending changes their places in the feed, and removes what is older than the feed is kept. Whoever holds the
// lock of the head does either. It numbers what has committed by then, so nothing that commits later ever gets an
// earlier place, however long its transaction took, and a transaction that never ends delays nothing but itself.
//
// Among what has committed, the order is that of the sequence: a record's next change draws its number while it holds the
// record's lock, after the change before has committed.
import { randomInt } from 'node:crypto';
import type { Database } from '../db/database.js';
import { sql, type Fragment } from '../db/sql.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { changeCode } from './change-kinds.js';

/** How long cursors are good, and how many changes are kept at most. */
export interface Retention {
  /** Milliseconds. */
  readonly keep: number;
  readonly rows: number;
}

const LOCK = sql`SELECT h.position FROM changes_head AS h WHERE h.one = ${true}::boolean FOR UPDATE`;

/** Numbers the next pending changes, and returns how many there were. */
export async function numberChanges(db: Pick<Database, 'write'>, most: number): Promise<number> {
  const mark = randomInt(1, 2 ** 31);
  const [moved, departed] = [changeCode('moved'), changeCode('departed')];
  return db.write(async (writing) => {
    writing.run(LOCK);
    // A statement of its own, so that it sees what those who held the lock before have done.
    const [row] = await writing.rows<{ readonly taken: number }>(sql`WITH taken AS (
        DELETE FROM changes_pending AS p WHERE p.seq = ANY (ARRAY(
          SELECT q.seq FROM changes_pending AS q ORDER BY q.seq LIMIT ${most}::integer)) RETURNING p.*),
      halves AS (
        SELECT t.seq, 0 AS half, ${departed}::smallint AS change, t.family, t.id, t.left_path AS path, t.path AS other, t.revision, t.at
        FROM taken AS t WHERE t.change = ${moved}::smallint
        UNION ALL SELECT t.seq, 1, t.change, t.family, t.id, t.path, t.left_path, t.revision, t.at FROM taken AS t),
      stored AS (
        INSERT INTO changes (position, mark, change, family, id, path, other, revision, at, numbered_at)
        SELECT h.position + row_number() OVER (ORDER BY t.seq, t.half), ${mark}::integer, t.change, t.family, t.id, t.path,
          t.other, t.revision, t.at, statement_timestamp()
        FROM halves AS t CROSS JOIN changes_head AS h RETURNING position)
      UPDATE changes_head AS h SET position = h.position + s.n, mark = ${mark}::integer
      FROM (SELECT count(*) AS n FROM stored) AS s WHERE s.n > 0
      RETURNING (SELECT count(*)::integer FROM taken) AS taken`);
    return row?.taken ?? 0;
  });
}

/** Removes some of the oldest changes that are not kept any more, and returns how many were removed. */
export async function removeChanges(db: Pick<Database, 'rows' | 'write'>, { keep, rows }: Retention): Promise<number> {
  const oldest = sql`WITH oldest AS (
        SELECT c.position, c.mark, c.numbered_at FROM changes AS c
        WHERE int8send(c.position) > (SELECT int8send(h.floor) FROM changes_head AS h)
        ORDER BY int8send(c.position) LIMIT ${CHANGES_LIMITS.removed}::integer),
      old AS (
        SELECT o.position, o.mark FROM oldest AS o CROSS JOIN changes_head AS h
        WHERE o.numbered_at < ${ago(keep + CHANGES_LIMITS.slack)} OR o.position <= h.position - ${rows}::bigint)`;
  // The lock is taken only if there is something to do, so that a gateway at rest writes nothing.
  const [found] = await db.rows(sql`${oldest} SELECT 1 AS found FROM old AS o LIMIT 1`);
  if (found === undefined) return 0;
  return db.write(async (writing) => {
    writing.run(LOCK);
    const [row] = await writing.rows<{ readonly removed: number }>(sql`${oldest},
      last AS (SELECT o.position, o.mark FROM old AS o ORDER BY o.position DESC LIMIT 1),
      gone AS (
        DELETE FROM changes AS c USING changes_head AS h, last AS l
        WHERE int8send(c.position) > int8send(h.floor) AND int8send(c.position) <= int8send(l.position) RETURNING 1)
      UPDATE changes_head AS h SET floor = l.position, floor_mark = l.mark FROM last AS l WHERE l.position > h.floor
      RETURNING (SELECT count(*)::integer FROM gone) AS removed`);
    return row?.removed ?? 0;
  });
}

/** Removes the views that no cursor which still works can name. */
export async function removeViews(db: Pick<Database, 'rows'>, { keep }: Pick<Retention, 'keep'>): Promise<void> {
  const before = ago(keep + CHANGES_LIMITS.slack + CHANGES_LIMITS.viewInterval);
  await db.rows(sql`DELETE FROM change_views AS v WHERE v.digest = ANY (ARRAY(
      SELECT w.digest FROM change_views AS w WHERE w.used_at < ${before} LIMIT ${CHANGES_LIMITS.removed}::integer))`);
}

function ago(milliseconds: number): Fragment {
  return sql`(statement_timestamp() - ${milliseconds}::bigint * interval '1 millisecond')`;
}

/** Where the feed ends, and whether something waits for its place there. */
export interface FeedState {
  readonly position: number;
  readonly isPending: boolean;
  /** How long the oldest pending change has waited, in seconds; null if there is none. */
  readonly lag: number | null;
}

export async function feedState(db: Pick<Database, 'rows'>): Promise<FeedState> {
  const [row] = await db.rows<{ readonly position: string; readonly lag: number | null }>(
    sql`SELECT h.position::text AS position, (SELECT EXTRACT(EPOCH FROM clock_timestamp() - p.at)::float8
        FROM changes_pending AS p ORDER BY p.seq LIMIT 1) AS lag FROM changes_head AS h WHERE h.one = ${true}::boolean`,
  );
  if (row === undefined) throw new TypeError('a store without the head of its feed');
  return { position: Number(row.position), isPending: row.lag !== null, lag: row.lag };
}
