// What the gateways know of the table that they derived from a snapshot and keep as a file: its form, its size and the
// hash of its bytes, in one text. Null where none has kept one.
import type { Knex } from 'knex';

export async function derivedTables(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE snapshots ADD COLUMN derived_table text COLLATE "C"');
}
