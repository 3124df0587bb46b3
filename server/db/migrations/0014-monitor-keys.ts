// Keys for monitoring, which open neither the API nor what admins do.
import type { Knex } from 'knex';

export async function monitorKeys(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE api_keys ADD COLUMN monitor boolean NOT NULL DEFAULT false');
}
