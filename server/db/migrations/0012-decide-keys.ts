// Keys with the right to ask what others may do. A gateway of an earlier release reads such a key as one without identities, which may
// do nothing.
import type { Knex } from 'knex';

export async function decideKeys(knex: Knex): Promise<void> {
  await knex.raw('ALTER TABLE api_keys ADD COLUMN decide boolean NOT NULL DEFAULT false');
}
