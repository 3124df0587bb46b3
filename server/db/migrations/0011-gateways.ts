// Who serves from this store, as each gateway says from time to time; rows of those who have said nothing for long are removed by the
// others. `gateway` is a random name of the process.
import type { Knex } from 'knex';

export async function gateways(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE gateways (
        gateway text COLLATE "C" PRIMARY KEY,
        host text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        snapshot text COLLATE "C" NOT NULL,
        generation bigint NOT NULL,
        started_at timestamptz(3) NOT NULL,
        seen_at timestamptz(3) NOT NULL
      )`);
}
