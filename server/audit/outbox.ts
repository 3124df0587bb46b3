// The outbox of the audit log: events in the database, each written in the same transaction as the change that it
// records. So every committed change has its event, and no other change has one.
import { type Fragment, sql } from '../db/sql.js';
import type { Store } from '../db/writing.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import type { Head } from './chain.js';
import type { AuditEvent } from './event.js';
import { isEvent } from './event-schema.js';

/**
 * Writes the events of a transaction into the outbox. Run this after the transaction's last write, so that the next
 * change of the same records comes later in the log. `given` is more of the FROM clause: nothing is written if that has
 * no row.
 */
export function recordStatement(events: readonly AuditEvent[], given: Fragment = sql``): Fragment {
  const ids = events.map(({ id }) => id);
  const texts = events.map((event) => JSON.stringify(event));
  return sql`INSERT INTO audit_outbox (id, event)
    SELECT e.id, e.event FROM unnest(${ids}::text[], ${texts}::text[]) WITH ORDINALITY AS e (id, event, n)${given} ORDER BY e.n`;
}

/** Writes events, of which there may be none. */
export async function recordInTransaction(writing: Store, events: readonly AuditEvent[]): Promise<void> {
  if (events.length > 0) await writing.rows(recordStatement(events));
}

/** An event that a log has claimed. */
export interface Claimed {
  readonly position: string;
  readonly event: AuditEvent;
  readonly bytes: number;
}

interface OutboxRow {
  readonly position: string;
  readonly event: string;
}

/**
 * Claims the next free events for this log, which ends at `after`: so many at most, and none after the first that reach
 * `AUDIT_LIMITS.drainedBytes`. From now on no other log appends them.
 */
export async function claimEvents(
  store: Store,
  { log, after, most }: { readonly log: string; readonly after: number; readonly most: number },
): Promise<readonly Claimed[]> {
  const rows = await store.rows<OutboxRow>(sql`WITH free AS (
        SELECT position, octet_length(event) AS bytes FROM audit_outbox WHERE log IS NULL
        ORDER BY position LIMIT ${most}::integer FOR UPDATE SKIP LOCKED),
      summed AS (SELECT position, sum(bytes) OVER (ORDER BY position) - bytes AS before FROM free),
      mine AS (
        UPDATE audit_outbox AS o SET log = ${log}::text, after = ${after}::bigint FROM summed AS s
        WHERE o.position = s.position AND s.before < ${AUDIT_LIMITS.drainedBytes}::bigint RETURNING o.position, o.event)
      SELECT position::text AS position, event FROM mine ORDER BY mine.position`);
  return rows.map(toClaimed);
}

/**
 * What the log had claimed when its process ended, and where the log ended when it claimed the first of these events.
 */
export async function claimedBefore(
  store: Store,
  log: string,
): Promise<{ readonly events: readonly Claimed[]; readonly after: number }> {
  const rows = await store.rows<
    OutboxRow & { readonly after: string }
  >(sql`SELECT position::text AS position, event, after::text AS after FROM audit_outbox AS o WHERE log = ${log}::text
      ORDER BY o.position`);
  return { events: rows.map(toClaimed), after: Math.min(...rows.map(({ after }) => Number(after))) };
}

/** What other logs have claimed: the number of events of each, and the first one. */
export async function claimedByOthers(
  store: Store,
  log: string,
): Promise<readonly { readonly log: string; readonly events: number; readonly first: string }[]> {
  return store.rows(sql`SELECT log, count(*)::integer AS events, min(position)::text AS first FROM audit_outbox
      WHERE log IS NOT NULL AND log <> ${log}::text GROUP BY log`);
}

/** Frees events that this log has claimed and does not have, for any log to claim. */
export async function releaseEvents(
  store: Store,
  { log, positions }: { readonly log: string; readonly positions: readonly string[] },
): Promise<void> {
  await store.rows(
    sql`UPDATE audit_outbox SET log = NULL, after = NULL WHERE log = ${log}::text AND position = ANY(${positions}::bigint[])`,
  );
}

/** Call this once the events are on the disk. */
export async function removeEvents(store: Store, positions: readonly string[]): Promise<void> {
  await store.rows(sql`DELETE FROM audit_outbox WHERE position = ANY(${positions}::bigint[])`);
}

/** The same, and notes the head of the log that has them: a log that loses its end right afterwards is found out. */
export async function removeAppended(store: Store, positions: readonly string[], noted: NotedHead): Promise<void> {
  await store.rows(
    sql`WITH noted AS (${noteStatement(noted)}) DELETE FROM audit_outbox WHERE position = ANY(${positions}::bigint[])`,
  );
}

/** Where a log is. */
export interface LogLocation {
  readonly host: string;
  readonly folder: string;
}

export interface NotedHead extends Head, LogLocation {
  readonly log: string;
}

/** The logs of the store, each with its last noted head. */
export async function knownLogs(store: Store): Promise<readonly NotedHead[]> {
  const rows = await store.rows<Omit<NotedHead, 'seq'> & { readonly seq: string }>(
    sql`SELECT log, seq::text AS seq, hash, host, folder FROM audit_heads ORDER BY log LIMIT ${AUDIT_LIMITS.knownLogs}::integer`,
  );
  return rows.map((row) => ({ ...row, seq: Number(row.seq) }));
}

export async function noteHead(store: Store, noted: NotedHead): Promise<void> {
  await store.rows(noteStatement(noted));
}

function noteStatement({ log, seq, hash, host, folder }: NotedHead): Fragment {
  return sql`INSERT INTO audit_heads AS h (log, seq, hash, host, folder)
      VALUES (${log}::text, ${seq}::bigint, ${hash}::text, ${host}::text, ${folder}::text)
      ON CONFLICT (log) DO UPDATE SET seq = EXCLUDED.seq, hash = EXCLUDED.hash, host = EXCLUDED.host, folder = EXCLUDED.folder
      WHERE h.seq <= EXCLUDED.seq`;
}

function toClaimed({ position, event: text }: OutboxRow): Claimed {
  const event: unknown = JSON.parse(text);
  // Only somebody with the store's password could have put it there.
  if (!isEvent(event)) throw new TypeError('the outbox holds something that is not an event');
  return { position, event, bytes: Buffer.byteLength(text) };
}
