// Where each log is, so that one that has vanished is told from one of another machine. Logs of earlier releases have no place.
import type { Knex } from 'knex';

export async function placesOfLogs(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE audit_heads ADD COLUMN host text COLLATE "C", ADD COLUMN folder text COLLATE "C"');
}
