// The outbox of the audit log: events in the database, written in the transaction of what they record. So
// what is committed has its event, and what is not has none.
import type { Knex } from 'knex';
import { rowsOf, sql } from '../db/sql.js';
import type { AuditEvent } from './event.js';

/**
 * Writes the events of a transaction into it. To be called after its last write: whoever changes the same records next comes later in
 * the log then.
 */
export async function recordInTransaction(transaction: Knex.Transaction, events: readonly AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  const ids = events.map(({ id }) => id);
  const texts = events.map((event) => JSON.stringify(event));
  await rowsOf(
    transaction,
    sql`INSERT INTO audit_outbox (id, event)
      SELECT e.id, e.event FROM unnest(${ids}::text[], ${texts}::text[]) WITH ORDINALITY AS e (id, event, n) ORDER BY e.n`,
  );
}
