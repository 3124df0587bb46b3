// What makes each query an index range, whatever part of the records is visible (server/query/README.md): for each order
// one covering index by namespace and one over the whole family, and the number of records in each namespace.
//
// A namespace has up to sixteen counters for each family, so that its writers do not queue: a statement adds to one that
// nobody holds, and opens another at random where all are held. Their sum is exact in every snapshot, as triggers write
// them in the transaction that writes the records; one slot alone means nothing and may be below zero.
import type { Knex } from 'knex';

export async function queryIndexes(knex: Knex): Promise<void> {
  await knex.raw('DROP INDEX records_family_path_id');
  await knex.raw('CREATE INDEX records_path_id ON records (family, path, id) INCLUDE (archived_at)');
  await knex.raw(
    'CREATE INDEX records_path_created ON records (family, path, created_at DESC, id) INCLUDE (archived_at)',
  );
  await knex.raw('CREATE INDEX records_path_name ON records (family, path, name, id) INCLUDE (archived_at)');
  await knex.raw('CREATE INDEX records_id ON records (family, id) INCLUDE (archived_at)');
  await knex.raw('CREATE INDEX records_created ON records (family, created_at DESC, id) INCLUDE (archived_at)');
  await knex.raw('CREATE INDEX records_name ON records (family, name, id) INCLUDE (archived_at)');
  await knex.raw(`
      CREATE TABLE record_counts (
        family smallint NOT NULL,
        path text COLLATE "C" NOT NULL,
        slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 15),
        active bigint NOT NULL,
        archived bigint NOT NULL,
        PRIMARY KEY (family, path, slot)
      ) WITH (fillfactor = 70)`);
  await knex.raw(`
      INSERT INTO record_counts (family, path, slot, active, archived)
      SELECT family, path, 0, count(*) - count(archived_at), count(archived_at)
      FROM records GROUP BY family, path ORDER BY family, path`);
  for (const { event, tables, rows } of CHANGES) {
    await knex.raw(countingFunction(event, rows));
    await knex.raw(`
        CREATE TRIGGER records_count_${event} AFTER ${event} ON records REFERENCING ${tables}
        FOR EACH STATEMENT EXECUTE FUNCTION records_count_${event}()`);
  }
  await knex.raw(`
      CREATE FUNCTION records_count_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        DELETE FROM record_counts;
        RETURN NULL;
      END $$`);
  await knex.raw(`
      CREATE TRIGGER records_count_truncate AFTER TRUNCATE ON records
      FOR EACH STATEMENT EXECUTE FUNCTION records_count_truncate()`);
}

const FRESH = 'SELECT family, path, archived_at, 1 AS n FROM fresh';
const STALE = 'SELECT family, path, archived_at, -1 AS n FROM stale';

const CHANGES = [
  { event: 'insert', tables: 'NEW TABLE AS fresh', rows: FRESH },
  { event: 'delete', tables: 'OLD TABLE AS stale', rows: STALE },
  { event: 'update', tables: 'OLD TABLE AS stale NEW TABLE AS fresh', rows: `${FRESH} UNION ALL ${STALE}` },
] as const;

/**
 * Adds up what a statement changed and adds that to the counters. A transaction waits for another only where both open
 * the same slot or sixteen hold the namespace's.
 */
function countingFunction(event: string, rows: string): string {
  return `
    CREATE FUNCTION records_count_${event}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO record_counts AS c (family, path, slot, active, archived)
      SELECT d.family, d.path, COALESCE((
          SELECT h.slot FROM record_counts AS h WHERE h.family = d.family AND h.path = d.path
          LIMIT 1 FOR UPDATE SKIP LOCKED), floor(random() * 16)), d.active, d.archived
      FROM (SELECT family, path, COALESCE(sum(n) FILTER (WHERE archived_at IS NULL), 0) AS active,
          COALESCE(sum(n) FILTER (WHERE archived_at IS NOT NULL), 0) AS archived
        FROM (${rows}) AS r GROUP BY family, path) AS d
      WHERE d.active <> 0 OR d.archived <> 0 ORDER BY d.family, d.path
      ON CONFLICT (family, path, slot) DO UPDATE
        SET active = c.active + EXCLUDED.active, archived = c.archived + EXCLUDED.archived;
      RETURN NULL;
    END $$`;
}
