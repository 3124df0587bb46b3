// A record is marked by its template, which is looked up by its id whatever the planner knows about the store: no index
// can be used for IS NOT DISTINCT FROM. With `=`, one that begins with the family may look as cheap in a young store, and
// would be read as far as that family has records.
import type { Knex } from 'knex';

export async function templatesById(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE OR REPLACE FUNCTION records_mark_unique() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.unique_name := COALESCE((SELECT t.unique_name FROM bailiwick.records AS t
        WHERE t.id = NEW.template AND t.family IS NOT DISTINCT FROM NEW.family - 1), false);
      RETURN NEW;
    END $$`);
}
