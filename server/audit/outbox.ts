// The outbox of the audit log: events in the database, written in the transaction of what they record. So
// what is committed has its event, and what is not has none.
import type { Knex } from 'knex';
import { type Fragment, rowsOf, sql } from '../db/sql.js';
import type { Head } from './chain.js';
import type { AuditEvent } from './event.js';
import { isEvent } from './event-schema.js';

/**
 * Writes the events of a transaction into it. To be run after its last write, so that the next change of the same
 * records comes later in the log.
 */
export function recordStatement(events: readonly AuditEvent[]): Fragment {
  const ids = events.map(({ id }) => id);
  const texts = events.map((event) => JSON.stringify(event));
  return sql`INSERT INTO audit_outbox (id, event)
    SELECT e.id, e.event FROM unnest(${ids}::text[], ${texts}::text[]) WITH ORDINALITY AS e (id, event, n) ORDER BY e.n`;
}

/** The same where the driver is not at hand. */
export async function recordInTransaction(transaction: Knex.Transaction, events: readonly AuditEvent[]): Promise<void> {
  if (events.length > 0) await rowsOf(transaction, recordStatement(events));
}

/** An event that a log has claimed. */
export interface Claimed {
  readonly position: string;
  readonly event: AuditEvent;
}

interface Row {
  readonly position: string;
  readonly event: string;
}

/** The next events that no log has claimed, for this one, which ends at `after`: nobody else appends them from now on. */
export async function claimEvents(
  knex: Knex,
  { log, after, most }: { readonly log: string; readonly after: number; readonly most: number },
): Promise<readonly Claimed[]> {
  const rows = await rowsOf<Row>(
    knex,
    sql`WITH free AS (
        SELECT position FROM audit_outbox WHERE log IS NULL ORDER BY position LIMIT ${most}::integer FOR UPDATE SKIP LOCKED),
      mine AS (
        UPDATE audit_outbox AS o SET log = ${log}::text, after = ${after}::bigint FROM free
        WHERE o.position = free.position RETURNING o.position, o.event)
      SELECT position::text AS position, event FROM mine ORDER BY mine.position`,
  );
  return rows.map(toClaimed);
}

/** What the log had claimed when its process ended, and where it ended when it claimed the first of them. */
export async function claimedBefore(
  knex: Knex,
  log: string,
): Promise<{ readonly events: readonly Claimed[]; readonly after: number }> {
  const rows = await rowsOf<Row & { readonly after: string }>(
    knex,
    sql`SELECT position::text AS position, event, after::text AS after FROM audit_outbox AS o WHERE log = ${log}::text
      ORDER BY o.position`,
  );
  return { events: rows.map(toClaimed), after: Math.min(...rows.map(({ after }) => Number(after))) };
}

/** Claimed by other logs: how many each has, and the first of them. */
export async function claimedByOthers(
  knex: Knex,
  log: string,
): Promise<readonly { readonly log: string; readonly events: number; readonly first: string }[]> {
  return rowsOf(
    knex,
    sql`SELECT log, count(*)::integer AS events, min(position)::text AS first FROM audit_outbox
      WHERE log IS NOT NULL AND log <> ${log}::text GROUP BY log`,
  );
}

/** For any log to claim: none has them. */
export async function releaseEvents(knex: Knex, positions: readonly string[]): Promise<void> {
  await rowsOf(
    knex,
    sql`UPDATE audit_outbox SET log = NULL, after = NULL WHERE position = ANY(${positions}::bigint[])`,
  );
}

/** To be called once they are on the disk. */
export async function removeEvents(knex: Knex, positions: readonly string[]): Promise<void> {
  await rowsOf(knex, sql`DELETE FROM audit_outbox WHERE position = ANY(${positions}::bigint[])`);
}

/** Where the log was when that was last noted; null if it never was. */
export async function notedHead(knex: Knex, log: string): Promise<Head | null> {
  const [row] = await rowsOf<{ readonly seq: string; readonly hash: string }>(
    knex,
    sql`SELECT seq::text AS seq, hash FROM audit_heads WHERE log = ${log}::text`,
  );
  return row === undefined ? null : { seq: Number(row.seq), hash: row.hash };
}

export async function noteHead(knex: Knex, log: string, { seq, hash }: Head): Promise<void> {
  await rowsOf(
    knex,
    sql`INSERT INTO audit_heads AS h (log, seq, hash) VALUES (${log}::text, ${seq}::bigint, ${hash}::text)
      ON CONFLICT (log) DO UPDATE SET seq = EXCLUDED.seq, hash = EXCLUDED.hash WHERE h.seq < EXCLUDED.seq`,
  );
}

function toClaimed({ position, event: text }: Row): Claimed {
  const event: unknown = JSON.parse(text);
  // Only what holds the store's password could have put it there.
  if (!isEvent(event)) throw new TypeError('the outbox holds something that is not an event');
  return { position, event };
}
