// Releases before 0005-own-schema kept their tables in the first schema that the connection searches, mostly `public`,
// beside whatever else is there. Our store is recognized by its list of migrations, which begins with our first one,
// and by the columns of the tables that the listed migrations made. Nothing else is looked at, and nothing else is
// moved.
import type { Knex } from 'knex';
import { SCHEMA } from './session-settings.js';
import { StoreError } from './failures.js';

export interface EarlierStore {
  readonly schema: string;
  /** In the order in which they ran. */
  readonly applied: readonly string[];
}

interface Made {
  /** Some columns of each table, enough to recognize it. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
  readonly functions: readonly string[];
}

const FIRST = '0001-records';

const LIST = 'schema_migrations';
const LIST_COLUMNS = ['id', 'name', 'batch', 'migration_time'];

/** By migration. Migrations that are not listed made nothing with a name of its own that would have to be moved. */
const MADE: ReadonlyMap<string, Made> = new Map<string, Made>([
  [
    FIRST,
    { tables: { records: ['id', 'family', 'path', 'name', 'properties', 'revision', 'implied'] }, functions: [] },
  ],
  [
    '0002-keys-and-secrets',
    {
      tables: { api_keys: ['id', 'actor', 'secret_hash', 'identities', 'restrictions'], secrets: ['name', 'value'] },
      functions: [],
    },
  ],
  [
    '0003-query-indexes',
    {
      tables: { record_counts: ['family', 'path', 'slot', 'active', 'archived'] },
      functions: ['insert', 'delete', 'update', 'truncate'].map((event) => `records_count_${event}`),
    },
  ],
]);

/**
 * The store of an earlier release that this connection would have used; null if there is none. Call this in a
 * transaction.
 */
export async function findEarlier(transaction: Knex.Transaction): Promise<EarlierStore | null> {
  const schema = await searchedFirst(transaction);
  if (schema === null || schema === SCHEMA) return null;
  if (!(await hasColumns(transaction, schema, { [LIST]: LIST_COLUMNS }))) return null;
  const { rows } = await transaction.raw<{ rows: readonly { name: string }[] }>('SELECT name FROM ??.?? ORDER BY id', [
    schema,
    LIST,
  ]);
  const applied = rows.map(({ name }) => name);
  return applied[0] === FIRST ? { schema, applied } : null;
}

/**
 * Moves its tables with everything that belongs to them, including the rights of others. Throws `store.foreign` if they
 * are not ours.
 */
export async function moveEarlier(transaction: Knex.Transaction, { schema, applied }: EarlierStore): Promise<void> {
  const made = applied.flatMap((name) => MADE.get(name) ?? []);
  const tables = Object.fromEntries(made.flatMap((one) => Object.entries(one.tables)));
  if (!(await hasColumns(transaction, schema, tables))) {
    throw new StoreError(
      'store.foreign',
      `the schema ${schema} lists migrations of bailiwick, but its tables are not those that they made`,
    );
  }
  const names = [...Object.keys(tables), LIST, `${LIST}_lock`];
  await admitReaders(transaction, schema, names);
  for (const name of names) await transaction.raw('ALTER TABLE ??.?? SET SCHEMA ??', [schema, name, SCHEMA]);
  for (const name of made.flatMap(({ functions }) => functions)) {
    await transaction.raw('ALTER FUNCTION ??.??() SET SCHEMA ??', [schema, name, SCHEMA]);
  }
}

async function searchedFirst(transaction: Knex.Transaction): Promise<string | null> {
  await transaction.raw('SET LOCAL search_path TO DEFAULT');
  const { rows } = await transaction.raw<{ rows: readonly { name: string | null }[] }>(
    'SELECT current_schema() AS name',
  );
  await transaction.raw('SET LOCAL search_path TO ??', [SCHEMA]);
  return rows[0]?.name ?? null;
}

async function hasColumns(transaction: Knex.Transaction, schema: string, tables: Made['tables']): Promise<boolean> {
  const { rows } = await transaction.raw<{ rows: readonly { table: string; columns: readonly string[] }[] }>(
    `SELECT c.relname::text AS table, array_agg(a.attname::text) AS columns
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace JOIN pg_attribute AS a ON a.attrelid = c.oid
     WHERE n.nspname = ? AND c.relname = ANY(?::text[]) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
     GROUP BY c.relname`,
    [schema, Object.keys(tables)],
  );
  const there = new Map(rows.map(({ table, columns }) => [table, new Set(columns)]));
  return Object.entries(tables).every(([table, columns]) =>
    columns.every((column) => there.get(table)?.has(column) === true),
  );
}

/** A user with a right to one of the tables would lose it without the right to use the new schema. */
async function admitReaders(transaction: Knex.Transaction, schema: string, names: readonly string[]): Promise<void> {
  const { rows } = await transaction.raw<{ rows: readonly { role: string | null }[] }>(
    `SELECT DISTINCT (SELECT r.rolname FROM pg_roles AS r WHERE r.oid = x.grantee)::text AS role
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace CROSS JOIN aclexplode(c.relacl) AS x
     WHERE n.nspname = ? AND c.relname = ANY(?::text[]) AND x.grantee <> c.relowner`,
    [schema, [...names]],
  );
  for (const { role } of rows) {
    if (role === null) await transaction.raw('GRANT USAGE ON SCHEMA ?? TO PUBLIC', [SCHEMA]);
    else await transaction.raw('GRANT USAGE ON SCHEMA ?? TO ??', [SCHEMA, role]);
  }
}
