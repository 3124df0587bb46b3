// Partitions (server/query/README.md "Partitions"): the records of each of some top-level namespaces in a table of their
// own, and all others in one for the rest. Statements name one table as before. Only whoever reads the plans sees that
// there are several.
import type { Knex } from 'knex';
import { type NamespacePath, parentOf, ROOT } from '../../engine/index.js';
import type { Database } from './database.js';
import { reasonOf, sqlStateOf, StoreError } from './failures.js';
import { holdSchema } from './migrate.js';
import { SCHEMA } from './session-settings.js';
import { storedPath } from './tables.js';

/**
 * Gives each of these top-level namespaces a partition, and others none. Copies all records if that is not so yet, in
 * one transaction that everybody else waits for. Returns whether it did. A gateway takes notice when it starts.
 *
 * Throws `store.unsupported` for an embedded store, and `store.foreign` if something in the database is in the way.
 */
export async function partition(db: Database, namespaces: readonly NamespacePath[]): Promise<boolean> {
  if (db.kind === 'embedded')
    throw new StoreError('store.unsupported', 'the embedded store keeps all records in one table');
  if (namespaces.some((path) => path === ROOT || parentOf(path) !== ROOT))
    throw new RangeError('only top-level namespaces have partitions');
  return holdSchema(db, async (trx) => {
    const ranges = [...new Set(namespaces)].sort().map(rangeOf);
    const wanted = [...ranges, REST].sort();
    const there = [...(await textsOf(trx, PARTITIONS))].sort();
    if (there.join('\n') === wanted.join('\n')) return false;
    await rebuild(trx, ranges).catch(inTheWay);
    return true;
  });
}

/** As PostgreSQL writes it. The texts of paths need no escaping. */
function rangeOf(namespace: NamespacePath): string {
  return `FOR VALUES FROM ('${storedPath(namespace)}') TO ('${namespace}0')`;
}

const REST = 'DEFAULT';

async function rebuild(trx: Knex, ranges: readonly string[]): Promise<void> {
  await trx.raw('LOCK TABLE records IN ACCESS EXCLUSIVE MODE');
  await run(trx, await textsOf(trx, AS_OWNER));
  const made: string[] = [];
  for (const query of [INDEXES, TRIGGERS, TRIGGER_STATES, RIGHTS, ROW_SECURITY])
    made.push(...(await textsOf(trx, query)));
  await run(trx, await textsOf(trx, SET_ASIDE));
  await run(trx, [
    `CREATE TABLE records (LIKE ${OLD} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY RANGE (path)`,
    ...ranges.map((range, index) => `CREATE TABLE records_${String(index + 1)} PARTITION OF records ${range}`),
    `CREATE TABLE records_rest PARTITION OF records ${REST}`,
    `INSERT INTO records SELECT * FROM ${OLD}`,
    // With it go the names of the indexes and triggers that come now.
    `DROP TABLE ${OLD}`,
    'ALTER TABLE records ADD CONSTRAINT records_pkey PRIMARY KEY (id, path)',
    ...made,
    ...IDS_ONCE,
  ]);
  await run(trx, await textsOf(trx, NAMES));
  await trx.raw('ANALYZE records');
}

const OLD = 'records_before';

async function run(trx: Knex, statements: readonly string[]): Promise<void> {
  // For knex, a question mark is the place of a value.
  for (const statement of statements) await trx.raw(statement.replaceAll('?', String.raw`\?`));
}

async function textsOf(trx: Knex, query: string): Promise<readonly string[]> {
  const { rows } = await trx.raw<{ rows: readonly { text: string }[] }>(query);
  return rows.map(({ text }) => text);
}

/** Such as a view of the table, or a unique index that partitions cannot have. PostgreSQL names it, and no value of a record. */
function inTheWay(error: unknown): never {
  if (!/^(?:2BP01|0A000|42[0-9A-Z]{3})$/.test(sqlStateOf(error) ?? '') || sqlStateOf(error) === '42501') throw error;
  const detail = typeof error === 'object' && error !== null && 'detail' in error ? error.detail : undefined;
  const reasons = typeof detail === 'string' ? [reasonOf(error), detail] : [reasonOf(error)];
  const told = reasons.join(': ').replaceAll('\n', '; ');
  throw new StoreError('store.foreign', `something in the database is in the way of partitions: ${told}`, {
    cause: error,
  });
}

const RECORDS = `'${SCHEMA}.records'::regclass`;

const PARTITIONS = `
  SELECT pg_get_expr(c.relpartbound, c.oid) AS text FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
  WHERE i.inhparent = ${RECORDS}`;

/** Whatever is on the table comes to the new one, also what its owner has added. */
const INDEXES = `
  SELECT replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS text FROM pg_index
  WHERE indrelid = ${RECORDS} AND NOT indisprimary ORDER BY indexrelid`;

const KEPT_TRIGGERS = `FROM pg_trigger WHERE tgrelid = ${RECORDS} AND NOT tgisinternal AND tgname <> 'records_ids_once'`;

const TRIGGERS = `SELECT pg_get_triggerdef(oid) AS text ${KEPT_TRIGGERS} ORDER BY oid`;

/** Of those that do not fire as new ones do. */
const TRIGGER_STATES = `
  SELECT format('ALTER TABLE records %s TRIGGER %I',
      CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname) AS text
  ${KEPT_TRIGGERS} AND tgenabled <> 'O'`;

const RIGHTS = `
  SELECT format('GRANT %s%s ON records TO %s%s', a.privilege_type, r.columns,
      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END,
      CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) AS text
  FROM pg_class AS c CROSS JOIN LATERAL (SELECT '' AS columns, c.relacl AS acl
      UNION ALL SELECT format(' (%I)', attname), attacl FROM pg_attribute WHERE attrelid = c.oid) AS r
    CROSS JOIN LATERAL aclexplode(r.acl) AS a
  WHERE c.oid = ${RECORDS} AND a.grantee <> c.relowner`;

/** Without its policies, which are not made again, it lets nobody see more than before. */
const ROW_SECURITY = `
  SELECT format('ALTER TABLE records %s ROW LEVEL SECURITY', s.how) AS text
  FROM pg_class AS c CROSS JOIN LATERAL (VALUES ('ENABLE', c.relrowsecurity), ('FORCE', c.relforcerowsecurity)) AS s (how, is_so)
  WHERE c.oid = ${RECORDS} AND s.is_so`;

/** Another may run this, such as a superuser, and what is made belongs to whoever makes it. */
const AS_OWNER = `SELECT format('SET LOCAL ROLE %s', relowner::regrole) AS text FROM pg_class WHERE oid = ${RECORDS}`;

const SET_ASIDE = `
  SELECT format('ALTER TABLE %I RENAME TO %I', relname, '${OLD}' || substr(relname, length('records') + 1)) AS text
  FROM pg_class WHERE oid = ${RECORDS} OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ${RECORDS})`;

/** An error names the index of a partition. Its name begins with that of the index that we know (`violates`), if there is room. */
const NAMES = `
  SELECT format('ALTER INDEX %I RENAME TO %I', part.relname, whole.relname || substr(t.relname, length('records') + 1)) AS text
  FROM pg_index AS w JOIN pg_class AS whole ON whole.oid = w.indexrelid
    JOIN pg_inherits AS i ON i.inhparent = w.indexrelid JOIN pg_class AS part ON part.oid = i.inhrelid
    JOIN pg_index AS p ON p.indexrelid = part.oid JOIN pg_class AS t ON t.oid = p.indrelid
  WHERE w.indrelid = ${RECORDS} AND octet_length(whole.relname || substr(t.relname, length('records') + 1)) < 64`;

/**
 * The key of a partitioned table must contain what it is partitioned by. So the store looks up each new id in the other
 * partitions. Two transactions that do so at once do not see each other: `load`, which alone is given its ids, runs one
 * batch at a time (server/load/hold-records.ts).
 */
const IDS_ONCE = [
  `CREATE OR REPLACE FUNCTION records_ids_once() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM fresh AS f CROSS JOIN LATERAL (
          SELECT FROM ${SCHEMA}.records AS r WHERE r.id = f.id AND r.path <> f.path OFFSET 0) AS r) THEN
        RAISE unique_violation USING CONSTRAINT = 'records_pkey', TABLE = 'records',
          MESSAGE = 'a record of another partition has this id';
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER records_ids_once AFTER INSERT ON records REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION records_ids_once()`,
];
