// What is left of a deleted record: its id, so that no dataset brings it back and a repeated DELETE finds what it did,
// and where it was, because whoever may not write there learns nothing of it. Nothing of its content is left.
import type { Knex } from 'knex';

export async function tombstones(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE tombstones (
        id uuid PRIMARY KEY,
        family smallint NOT NULL CHECK (family BETWEEN 1 AND 4),
        path text COLLATE "C" NOT NULL,
        revision integer NOT NULL,
        deleted_at timestamptz(3) NOT NULL
      )`);
}
