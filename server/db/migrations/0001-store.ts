// The store of the first release. All texts that are compared sort by code point (`COLLATE "C"`), so that an answer
// never depends on the locale of the server.
import type { Knex } from 'knex';

export async function store(knex: Knex): Promise<void> {
  await records(knex);
  await recordCounts(knex);
  // The id is the one that a dataset's line for the root derives (server/load/record-id.ts), so both agree.
  await knex.raw(
    `INSERT INTO records (id, family, path, name, properties, revision, created_at, updated_at, created_by, implied)
       VALUES (?::uuid, 0, '/', '/', '{}', 1, now(), now(), 'bailiwick', true)`,
    [ROOT_ID],
  );
  for (const statement of [...KEYS_AND_SECRETS, ...KEPT_ANSWERS, ...AUDIT, ...POLICIES]) await knex.raw(statement);
}

const ROOT_ID = 'e3385d9d-0fa5-8283-a392-6cc53e2b7364';

/**
 * Records of all five families in one table. `implied` marks a namespace that exists only because something below it
 * does: a dataset may still describe it. The unique index on paths holds for namespace records alone; names are never
 * unique, and only process runs have none.
 */
const RECORDS = `
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
        implied boolean NOT NULL DEFAULT false CHECK (family = 0 OR NOT implied),
        CONSTRAINT records_name_check CHECK (name IS NOT NULL OR family = 4)
      )`;

/**
 * The indexes make a page of any subtree a short index range, whatever part of the records is visible
 * (server/query/README.md): for each of its first ancestors a record has a key, in each order. The key begins with the
 * family, and archived records have keys of their own, so that a subtree's range holds nothing but what a query of it
 * may give. Level 0 is the root.
 *
 * Ids are bytes here, in the same order: the planner then has no other index that gives it (server/query/key-order.ts).
 * The expressions are those of server/query/ancestor-keys.ts.
 */
async function records(knex: Knex): Promise<void> {
  await knex.raw(RECORDS);
  await knex.raw('CREATE UNIQUE INDEX records_namespace_path ON records (path) WHERE family = 0');
  for (const [name, columns] of ORDERS) {
    await knex.raw(`CREATE INDEX records_path_${name} ON records (family, path, ${columns}) INCLUDE (id, archived_at)`);
  }
  for (let level = 0; level <= 5; level += 1) {
    const where = level === 0 ? '' : ` WHERE split_part(path, '/', ${String(level + 1)}) <> ''`;
    for (const [name, columns] of ORDERS) {
      await knex.raw(
        `CREATE INDEX records_level${String(level)}_${name} ON records ((${ancestorKey(level)}), ${columns})${where}`,
      );
    }
  }
}

const ORDERS = [
  ['id', 'uuid_send(id)'],
  ['created', 'created_at DESC, uuid_send(id)'],
  ['name', 'name, uuid_send(id)'],
] as const;

function ancestorKey(level: number): string {
  const segments = Array.from(
    { length: level },
    (_, index) => ` || split_part(path, '/', ${String(index + 2)}) || '/'`,
  );
  return `(family::text || CASE WHEN archived_at IS NULL THEN '/' ELSE '!/' END${segments.join('')}) COLLATE "C"`;
}

/**
 * The number of records in each namespace. A namespace has up to sixteen counters for each family, so that its writers
 * do not queue: a statement adds to one that nobody holds, and opens another at random where all are held. Their sum is
 * exact in every snapshot, as triggers write them in the transaction that writes the records; one slot alone means
 * nothing and may be below zero.
 */
async function recordCounts(knex: Knex): Promise<void> {
  await knex.raw(`
      CREATE TABLE record_counts (
        family smallint NOT NULL,
        path text COLLATE "C" NOT NULL,
        slot smallint NOT NULL CHECK (slot BETWEEN 0 AND 15),
        active bigint NOT NULL,
        archived bigint NOT NULL,
        PRIMARY KEY (family, path, slot)
      ) WITH (fillfactor = 70)`);
  for (const { event, tables, body } of CHANGES) {
    // The function says itself where its tables are: whoever changes records by hand may search other schemas.
    await knex.raw(`
      CREATE FUNCTION records_count_${event}() RETURNS trigger LANGUAGE plpgsql
      SET search_path = bailiwick, pg_temp AS $$
    BEGIN
      ${body}
      RETURN NULL;
    END $$`);
    await knex.raw(`
      CREATE TRIGGER records_count_${event} AFTER ${event} ON records ${tables}
      FOR EACH STATEMENT EXECUTE FUNCTION records_count_${event}()`);
  }
}

const FRESH = 'SELECT family, path, archived_at, 1 AS n FROM fresh';
const STALE = 'SELECT family, path, archived_at, -1 AS n FROM stale';

const CHANGES = [
  { event: 'insert', tables: 'REFERENCING NEW TABLE AS fresh', body: added(FRESH) },
  { event: 'delete', tables: 'REFERENCING OLD TABLE AS stale', body: added(STALE) },
  {
    event: 'update',
    tables: 'REFERENCING OLD TABLE AS stale NEW TABLE AS fresh',
    body: added(`${FRESH} UNION ALL ${STALE}`),
  },
  { event: 'truncate', tables: '', body: 'DELETE FROM record_counts;' },
] as const;

/**
 * Adds up what a statement changed and adds that to the counters. A transaction waits for another only where both open
 * the same slot or sixteen hold the namespace's.
 */
function added(rows: string): string {
  return `INSERT INTO record_counts AS c (family, path, slot, active, archived)
      SELECT d.family, d.path, COALESCE((
          SELECT h.slot FROM record_counts AS h WHERE h.family = d.family AND h.path = d.path
          LIMIT 1 FOR UPDATE SKIP LOCKED), floor(random() * 16)), d.active, d.archived
      FROM (SELECT family, path, COALESCE(sum(n) FILTER (WHERE archived_at IS NULL), 0) AS active,
          COALESCE(sum(n) FILTER (WHERE archived_at IS NOT NULL), 0) AS archived
        FROM (${rows}) AS r GROUP BY family, path) AS d
      WHERE d.active <> 0 OR d.archived <> 0 ORDER BY d.family, d.path
      ON CONFLICT (family, path, slot) DO UPDATE
        SET active = c.active + EXCLUDED.active, archived = c.archived + EXCLUDED.archived;`;
}

/** API keys (the secret only as a hash) and the installation's own secrets, made once and shared by all processes. */
const KEYS_AND_SECRETS = [
  `CREATE TABLE api_keys (
        id text COLLATE "C" PRIMARY KEY,
        actor text COLLATE "C" NOT NULL,
        secret_hash bytea NOT NULL,
        identities jsonb NOT NULL CHECK (jsonb_typeof(identities) = 'array'),
        scopes jsonb CHECK (jsonb_typeof(scopes) = 'array'),
        restrictions jsonb CHECK (jsonb_typeof(restrictions) = 'array'),
        admin boolean NOT NULL,
        created_at timestamptz(3) NOT NULL,
        expires_at timestamptz(3),
        revoked_at timestamptz(3),
        last_used_at timestamptz(3),
        decide boolean NOT NULL DEFAULT false,
        monitor boolean NOT NULL DEFAULT false
      )`,
  'CREATE INDEX api_keys_actor ON api_keys (actor)',
  `CREATE TABLE secrets (
        name text COLLATE "C" PRIMARY KEY,
        value bytea NOT NULL,
        created_at timestamptz(3) NOT NULL
      )`,
];

/**
 * Answers of creates, copies and batches, each under its Idempotency-Key, until they expire. `owner` is a digest of the
 * key and of whom and what it belongs to; `fingerprint` is one of the body. `answers` holds ids and the JSON of records
 * as they were answered.
 */
const KEPT_ANSWERS = [
  `CREATE TABLE kept_answers (
        owner text COLLATE "C" PRIMARY KEY,
        fingerprint text COLLATE "C" NOT NULL,
        answers text NOT NULL,
        kept_until timestamptz(3) NOT NULL
      )`,
  'CREATE INDEX kept_answers_until ON kept_answers (kept_until)',
];

/**
 * Events that wait for the audit log. Each is written in the transaction of what it records, and is removed once the
 * log holds it on the disk.
 *
 * `position` keeps the order of what happened to one record: whoever changes it next waits for the transaction before.
 * `log` is the log that has claimed the event, which no other appends then; `after` is where that log was, so that its
 * owner finds out after a crash whether it had appended it. `audit_heads` is where each log has been: one that is behind
 * has lost its end. `host` and `folder` tell a log that has vanished from one of another machine.
 */
const AUDIT = [
  `CREATE TABLE audit_outbox (
        position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL,
        event text NOT NULL,
        log text COLLATE "C",
        after bigint,
        CHECK ((log IS NULL) = (after IS NULL))
      )`,
  `CREATE TABLE audit_heads (
        log text COLLATE "C" PRIMARY KEY,
        seq bigint NOT NULL,
        hash text NOT NULL,
        host text COLLATE "C" NOT NULL,
        folder text COLLATE "C" NOT NULL
      )`,
];

/**
 * `activations`: which policy became the active one, in what order, and what asked for it. The numbers go on over
 * restarts, and a statement that was accepted once is not forgotten, so that an older one cannot take its place
 * (docs/serving.md "Activations").
 *
 * `snapshots`: each once under the digest of its bytes, in parts that are compressed by themselves. `statement` is the
 * signed envelope as JSON.
 *
 * `gateways`: who serves from this store, as each gateway says from time to time; the others remove the rows of those
 * that have said nothing for long. `gateway` is a random name of the process.
 */
const POLICIES = [
  `CREATE TABLE activations (
        generation bigint PRIMARY KEY,
        policy text COLLATE "C" NOT NULL,
        snapshot text COLLATE "C" NOT NULL,
        decisions text COLLATE "C" NOT NULL,
        environment text COLLATE "C",
        statement_generation bigint,
        reason text NOT NULL,
        activated_at timestamptz(3) NOT NULL,
        kind text NOT NULL CHECK (kind IN ('offered', 'activated', 'rolled_back')),
        asked_by text NOT NULL,
        statement text,
        CHECK ((environment IS NULL) = (statement_generation IS NULL))
      )`,
  `CREATE TABLE snapshots (
        snapshot text COLLATE "C" PRIMARY KEY,
        policy text COLLATE "C" NOT NULL,
        decisions text COLLATE "C" NOT NULL,
        bytes bigint NOT NULL,
        labels text NOT NULL,
        statement text,
        stored_at timestamptz(3) NOT NULL,
        used_at timestamptz(3) NOT NULL
      )`,
  `CREATE TABLE snapshot_parts (
        snapshot text COLLATE "C" NOT NULL,
        part integer NOT NULL,
        bytes bytea NOT NULL,
        written_at timestamptz(3) NOT NULL,
        PRIMARY KEY (snapshot, part)
      )`,
  'ALTER TABLE snapshot_parts ALTER COLUMN bytes SET STORAGE EXTERNAL',
  `CREATE TABLE gateways (
        gateway text COLLATE "C" PRIMARY KEY,
        host text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        snapshot text COLLATE "C" NOT NULL,
        generation bigint NOT NULL,
        started_at timestamptz(3) NOT NULL,
        seen_at timestamptz(3) NOT NULL
      )`,
];
