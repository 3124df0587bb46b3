// When the source of a policy last offered what is in force, so that a policy is no younger after a restart
// (docs/serving.md "Age"). In a table of its own, because the history of activations is only added to.
import type { Knex } from 'knex';

export async function confirmations(knex: Knex): Promise<void> {
  await knex.raw(`CREATE TABLE confirmations (
        generation bigint PRIMARY KEY,
        confirmed_at timestamptz(3) NOT NULL
      )`);
}
