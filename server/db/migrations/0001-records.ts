// Records of all five families in one table, and the root namespace, whose record always exists.
//
// Paths, names and all other texts that are compared sort by code point (`COLLATE "C"`), so that an answer never depends
// on the locale of the server. `implied` marks a namespace that exists only because something below it does: a dataset
// may still describe it. The unique index on paths holds for namespace records alone; names are never unique.
import type { Knex } from 'knex';

export async function records(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE records (
        id uuid PRIMARY KEY,
        family smallint NOT NULL CHECK (family BETWEEN 0 AND 4),
        path text COLLATE "C" NOT NULL CHECK (path LIKE '/%' AND path LIKE '%/'),
        name text COLLATE "C",
        description text COLLATE "C",
        properties jsonb NOT NULL CHECK (jsonb_typeof(properties) = 'object'),
        version text COLLATE "C",
        schema jsonb,
        slots jsonb,
        template uuid,
        copied_from uuid,
        parameters jsonb,
        resources jsonb,
        state text COLLATE "C",
        revision integer NOT NULL CHECK (revision > 0),
        created_at timestamptz(3) NOT NULL,
        updated_at timestamptz(3) NOT NULL,
        archived_at timestamptz(3),
        created_by text COLLATE "C" NOT NULL,
        implied boolean NOT NULL DEFAULT false CHECK (family = 0 OR NOT implied)
      )`);
  await knex.raw('CREATE INDEX records_family_path_id ON records (family, path, id)');
  await knex.raw('CREATE UNIQUE INDEX records_namespace_path ON records (path) WHERE family = 0');
  // The id is the one that a dataset's line for the root derives (server/load/record-id.ts), so both agree.
  await knex.raw(
    `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, implied)
       VALUES (?::uuid, 0, '/', '/', '{}', 1, now(), now(), 'bailiwick', true)`,
    [ROOT_ID],
  );
}

const ROOT_ID = 'e3385d9d-0fa5-8283-a392-6cc53e2b7364';
