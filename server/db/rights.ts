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

const NEEDED = [...RIGHTS].flatMap(([table, rights]) =>
  rights.filter((right) => !SPARED.has(`${right} on ${table}`)).map((right) => ({ table, right })),
);

/** Those that requests need and the user of the store lacks, such as `INSERT on records`. */
export async function missingRights({ kind, vital }: Pick<Database, 'kind' | 'vital'>): Promise<readonly string[]> {
  if (kind === 'embedded') return [];
  const tables = NEEDED.map(({ table }) => `${SCHEMA}.${table}`);
  // What is not there is for migrations.
  const rows = await vital<{ readonly place: string }>(
    sql`SELECT place::text FROM unnest(${tables}::text[], ${NEEDED.map(({ right }) => right)}::text[])
        WITH ORDINALITY AS needed (name, access, place)
      WHERE NOT has_table_privilege(to_regclass(name), access) ORDER BY needed.place`,
  );
  return rows.map(({ place }) => {
    const { right = '', table = '' } = NEEDED[Number(place) - 1] ?? {};
    return `${right} on ${table}`;
  });
}

/** Throws `store.grants` if a gateway could not answer all requests. */
export async function assertRights(db: Pick<Database, 'kind' | 'vital'>): Promise<void> {
  const missing = await missingRights(db);
  if (missing.length > 0) throw new StoreError('store.grants', lacking(missing));
}

export function lacking(missing: readonly string[]): string {
  return `the database user lacks rights: ${missing.join(', ')}`;
}
