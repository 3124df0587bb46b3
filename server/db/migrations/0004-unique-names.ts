// Names that are unique in a namespace, for records whose template asks for it. The store itself keeps them so, whoever
// writes: a trigger marks each record by its template, and a unique index has the marked ones that are not archived.
import type { Knex } from 'knex';

export async function uniqueNames(knex: Knex): Promise<void> {
  // A constant default does not rewrite the table, and the index begins empty.
  await knex.raw('ALTER TABLE records ADD COLUMN unique_name boolean NOT NULL DEFAULT false');
  await knex.raw(`CREATE UNIQUE INDEX records_unique_name ON records (family, path, name)
      WHERE unique_name AND archived_at IS NULL AND family IN (2, 4)`);
  // Of a template the column says what it asks for. It says so for good, so that no record is marked wrongly.
  await knex.raw(`
      CREATE FUNCTION records_mark_unique() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.unique_name := COALESCE((SELECT t.unique_name FROM bailiwick.records AS t
        WHERE t.id = NEW.template AND t.family = NEW.family - 1), false);
      RETURN NEW;
    END $$`);
  for (const { event, when } of MARKED) {
    const [verb = ''] = event.split(' ');
    await knex.raw(`
      CREATE TRIGGER records_mark_unique_${verb.toLowerCase()} BEFORE ${event} ON records FOR EACH ROW
      WHEN (NEW.family IN (2, 4) AND (${when})) EXECUTE FUNCTION records_mark_unique()`);
  }
}

const MARKED = [
  { event: 'INSERT', when: 'NEW.template IS NOT NULL OR NEW.unique_name' },
  { event: 'UPDATE OF template', when: 'NEW.template IS DISTINCT FROM OLD.template' },
];
