// Events that wait for the audit log. Each is written in the transaction of what it records, and is removed
// once the log holds it on the disk.
//
// `position` keeps the order of what happened to one record: whoever changes it next waits for the transaction before. `log` is the log
// that has claimed the event, which no other appends then; `after` is where that log was, so that its owner finds out after a crash
// whether it had appended it. `audit_heads` is where each log has been: one that is behind has lost its end.
import type { Knex } from 'knex';

export async function auditOutbox(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE audit_outbox (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL,
        event text NOT NULL,
        log text COLLATE "C",
        after bigint,
        CHECK ((log IS NULL) = (after IS NULL))
      )`);
  await knex.raw(`
      CREATE TABLE audit_heads (
        log text COLLATE "C" PRIMARY KEY,
        seq bigint NOT NULL,
        hash text NOT NULL
      )`);
}
