// What a gateway may do with the tables of an external store. deploy/postgresql/grants.sql gives these rights to a role
// that does not own them, and a test compares the two. Without this, a right that is missing would be found by the first
// request that needs it.
import type { Database } from './database.js';
import { StoreError } from './failures.js';
import { SCHEMA } from './session-settings.js';
import { sql } from './sql.js';

const [READ, ADD, CHANGE, KEEP] = ['SELECT', 'SELECT INSERT', 'SELECT INSERT UPDATE', 'SELECT INSERT UPDATE DELETE'];

/** By table. */
export const RIGHTS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    activations: ADD,
    api_keys: CHANGE,
    audit_heads: CHANGE,
    audit_outbox: KEEP,
    change_views: KEEP,
    changes: 'SELECT INSERT DELETE',
    changes_head: 'SELECT UPDATE',
    changes_pending: 'SELECT INSERT DELETE',
    confirmations: CHANGE,
    gateways: KEEP,
    kept_answers: KEEP,
    record_counts: CHANGE,
    records: KEEP,
    schema_migrations: READ,
    secrets: ADD,
    snapshot_parts: KEEP,
    snapshots: KEEP,
    tombstones: ADD,
  }).map(([table, rights]) => [table, rights.split(' ')]),
);

/** Secrets are made once, and keys only by admins, who may use another user for that. */
const SPARED: ReadonlySet<string> = new Set(['INSERT on secrets', 'INSERT on api_keys']);

const NEEDED = [
  `USAGE on schema ${SCHEMA}`,
  ...[...RIGHTS].flatMap(([table, rights]) => rights.map((right) => `${right} on ${table}`)),
].filter((right) => !SPARED.has(right));

/** Those that requests need and the user of the store lacks, such as `INSERT on records`. */
export async function missingRights({ kind, vital }: Pick<Database, 'kind' | 'vital'>): Promise<readonly string[]> {
  if (kind === 'embedded') return [];
  // What is not there is for migrations. Looked up by hand: to_regclass fails without the right to use the schema.
  const rows = await vital<{ readonly needed: string }>(
    sql`SELECT needed FROM unnest(${NEEDED}::text[]) WITH ORDINALITY AS rights (needed, place)
        JOIN pg_namespace AS n ON n.nspname = ${SCHEMA}::text
        LEFT JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = split_part(needed, ' on ', 2)
      WHERE NOT CASE split_part(needed, ' on ', 1) WHEN 'USAGE' THEN has_schema_privilege(n.oid, 'USAGE')
        ELSE has_table_privilege(c.oid, split_part(needed, ' on ', 1)) END
      ORDER BY place`,
  );
  return rows.map(({ needed }) => needed);
}

/** Throws `store.grants` if a gateway could not answer all requests. */
export async function assertRights(db: Pick<Database, 'kind' | 'vital'>): Promise<void> {
  const missing = await missingRights(db);
  if (missing.length > 0) throw new StoreError('store.grants', lacking(missing));
}

export function lacking(missing: readonly string[]): string {
  return `the database user lacks rights: ${missing.join(', ')}`;
}
