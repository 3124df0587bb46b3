// Which policy became the active one, in what order: generations go on over restarts, and a statement that was accepted once is not
// forgotten, so that an older one cannot take its place (docs/serving.md "Activations").
import type { Knex } from 'knex';

export async function activations(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE activations (
        generation bigint PRIMARY KEY,
        policy text COLLATE "C" NOT NULL,
        snapshot text COLLATE "C" NOT NULL,
        decisions text COLLATE "C" NOT NULL,
        environment text COLLATE "C",
        statement_generation bigint,
        reason text NOT NULL,
        activated_at timestamptz(3) NOT NULL,
        CHECK ((environment IS NULL) = (statement_generation IS NULL))
      )`);
}
