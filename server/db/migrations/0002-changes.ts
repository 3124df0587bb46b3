// The feed of changes (docs/feed.md): what happened to records, in an order in which no change is ever overtaken by an
// earlier one.
import type { Knex } from 'knex';

export async function changes(knex: Knex): Promise<void> {
  for (const statement of [...PENDING, ...NUMBERED, ...VIEWS]) await knex.raw(statement);
  for (let level = 0; level <= 5; level += 1) {
    const where = level === 0 ? '' : ` WHERE split_part(path, '/', ${String(level + 1)}) <> ''`;
    await knex.raw(`CREATE INDEX changes_level${String(level)} ON changes ((${ancestorKey(level)}), position)${where}`);
  }
  for (const { event, tables, body } of TRIGGERS) {
    await knex.raw(`
      CREATE FUNCTION records_change_${event}() RETURNS trigger LANGUAGE plpgsql
      SET search_path = bailiwick, pg_temp AS $$
    BEGIN
      ${body}
      RETURN NULL;
    END $$`);
    await knex.raw(`
      CREATE TRIGGER records_change_${event} AFTER ${event} ON records ${tables}
      FOR EACH STATEMENT EXECUTE FUNCTION records_change_${event}()`);
  }
}

/**
 * Changes whose transactions have committed, or are about to, without a place in the feed yet. Triggers write them in
 * the statement that writes the records, so none is missing, whoever writes. They have no other index, so that they
 * cost a writer little.
 *
 * `seq` keeps the order of what happened to one record: whoever changes it next waits for the transaction before.
 * `change` is an index into the list of kinds in server/changes/change-kinds.ts.
 */
const PENDING = [
  `CREATE TABLE changes_pending (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        change smallint NOT NULL,
        family smallint NOT NULL,
        id uuid NOT NULL,
        path text COLLATE "C" NOT NULL,
        left_path text COLLATE "C",
        revision integer NOT NULL,
        at timestamptz(3) NOT NULL
      )`,
];

/**
 * `changes_head` is one row. Whoever holds its lock moves pending changes into the feed, where they get the next
 * positions. So positions become visible in their order, whatever the order of sequences and of transactions was.
 * `floor` is the last position that was removed, and `floor_mark` its mark.
 *
 * `mark` is a random number of those who gave the position. A cursor has it, too: after a store lost its end and gave
 * the same positions again, the cursor is found out.
 *
 * A record that is moved has two rows, one at each place; `other` is the other place.
 *
 * The indexes are those of records (server/query/README.md): a root of a visible set is one range of one index, in the
 * order of positions. Nothing else is in that order: the unique index is over bytes, so that no plan can walk past what
 * is invisible.
 */
const NUMBERED = [
  `CREATE TABLE changes_head (
        one boolean PRIMARY KEY CHECK (one),
        position bigint NOT NULL,
        mark integer NOT NULL,
        floor bigint NOT NULL,
        floor_mark integer NOT NULL
      )`,
  'INSERT INTO changes_head (one, position, mark, floor, floor_mark) VALUES (true, 0, 0, 0, 0)',
  `CREATE TABLE changes (
        position bigint NOT NULL,
        mark integer NOT NULL,
        change smallint NOT NULL,
        family smallint NOT NULL,
        id uuid NOT NULL,
        path text COLLATE "C" NOT NULL,
        other text COLLATE "C",
        revision integer NOT NULL,
        at timestamptz(3) NOT NULL,
        numbered_at timestamptz(3) NOT NULL
      )`,
  'CREATE UNIQUE INDEX changes_position ON changes (int8send(position))',
  'CREATE INDEX changes_path ON changes (family, path, position)',
];

/** Visible sets that cursors refer to, each under its digest, so that a reader learns how its rights have changed. */
const VIEWS = [
  `CREATE TABLE change_views (
        digest text COLLATE "C" PRIMARY KEY,
        view text NOT NULL,
        used_at timestamptz(3) NOT NULL
      )`,
  'CREATE INDEX change_views_used ON change_views (used_at)',
];

function ancestorKey(level: number): string {
  const segments = Array.from(
    { length: level },
    (_, index) => ` || split_part(path, '/', ${String(index + 2)}) || '/'`,
  );
  return `(family::text || '/'${segments.join('')}) COLLATE "C"`;
}

const COLUMNS = 'change, family, id, path, left_path, revision, at';

/** A namespace that a dataset describes gets another id: the record with the old one is gone. */
const TRIGGERS = [
  {
    event: 'insert',
    tables: 'REFERENCING NEW TABLE AS fresh',
    body: `INSERT INTO changes_pending (${COLUMNS})
        SELECT 0, family, id, path, NULL, revision, now() FROM fresh;`,
  },
  {
    event: 'delete',
    tables: 'REFERENCING OLD TABLE AS stale',
    body: `INSERT INTO changes_pending (${COLUMNS})
        SELECT 5, family, id, path, NULL, revision, now() FROM stale;`,
  },
  {
    event: 'update',
    tables: 'REFERENCING OLD TABLE AS stale NEW TABLE AS fresh',
    body: `INSERT INTO changes_pending (${COLUMNS})
        SELECT k.change, COALESCE(f.family, s.family), COALESCE(f.id, s.id), COALESCE(f.path, s.path),
          CASE WHEN k.change = 2 THEN s.path END, COALESCE(f.revision, s.revision), now()
        FROM stale AS s FULL JOIN fresh AS f ON f.id = s.id AND f.family = s.family
        CROSS JOIN LATERAL unnest(CASE
          WHEN f.id IS NULL THEN '{5}'::smallint[]
          WHEN s.id IS NULL THEN '{0}'::smallint[]
          WHEN s.archived_at IS NULL AND f.archived_at IS NOT NULL
            THEN CASE WHEN s.path = f.path THEN '{3}'::smallint[] ELSE '{2,3}'::smallint[] END
          WHEN s.archived_at IS NOT NULL AND f.archived_at IS NULL
            THEN CASE WHEN s.path = f.path THEN '{4}'::smallint[] ELSE '{2,4}'::smallint[] END
          WHEN s.path <> f.path THEN '{2}'::smallint[]
          ELSE '{1}'::smallint[] END) AS k (change)
        ORDER BY (f.id IS NULL) DESC;`,
  },
  {
    // Every cursor is before the floor then.
    event: 'truncate',
    tables: '',
    body: `DELETE FROM changes_pending;
      DELETE FROM changes;
      UPDATE changes_head SET position = position + 1, floor = position + 1, floor_mark = mark;`,
  },
] as const;
