// The tables are in a schema of our own from here on (server/db/earlier-schema.ts brings those of earlier releases). The functions that
// count records name their table without it, so they say themselves where it is: whoever changes records by hand may search elsewhere.
import type { Knex } from 'knex';

export async function ownSchema(knex: Knex): Promise<void> {
  for (const event of ['insert', 'delete', 'update', 'truncate']) {
    await knex.raw(`ALTER FUNCTION records_count_${event}() SET search_path = bailiwick, pg_temp`);
  }
}
