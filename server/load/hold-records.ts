// The locks of a batch on stored records, until it is stored. Each statement takes them in the order of ids. A dry run
// takes none of them: it only says what a load would do now, and nobody waits for it.
import type { Knex } from 'knex';
import { NEWEST_LOCK } from '../db/migrations/0005-newest.js';
import { type Fragment, rowsOf, sql } from '../db/sql.js';
import type { Batch, StoreOptions } from './batch.js';
import { STAGE } from './stage.js';

type Holding = Pick<StoreOptions, 'onConflict' | 'effect'>;

const HELD = sql`FOR KEY SHARE`;

/** Beside the other lock of the store. */
const DELETED_LOCK = Object.freeze({ ...NEWEST_LOCK, one: 2 });

/**
 * Nobody else says that a record was deleted while this batch stores some, or stores one while this batch says so: neither
 * would see the other, and both could have the same id. If records are partitioned, so could two batches that store some
 * (server/db/partitions.ts), and one waits for the other. This comes first, after the lock of moves (server/db/hold-moves.ts),
 * so that whoever waits holds nothing else yet.
 */
export async function holdDeleted({ trx, rows, options: { effect } }: Batch): Promise<void> {
  if (effect === 'tried') return;
  // Whether records are partitioned must not change after the look.
  await trx.raw('LOCK TABLE records IN ROW EXCLUSIVE MODE');
  const { group, one } = DELETED_LOCK;
  const deletes = rows.some(({ deletedAt }) => deletedAt !== null);
  const lock = sql`(${group}::integer, ${one}::integer) FROM (SELECT ${deletes}::boolean
    OR EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = 'records'::regclass) AS alone) AS held`;
  await rowsOf(
    trx,
    sql`SELECT pg_advisory_xact_lock${lock} WHERE alone UNION ALL SELECT pg_advisory_xact_lock_shared${lock} WHERE NOT alone`,
  );
}

/** The end of a statement that reads records which nobody may move or delete: both lock their record against this lock. */
export function heldFor({ effect }: Pick<Holding, 'effect'>): Fragment {
  return effect === 'tried' ? sql`` : HELD;
}

/**
 * Nobody deletes the records with these ids. Whoever is deleting one is waited for, so that its tombstone is there for
 * the next statement. `replace` takes at once the lock that an update needs: a deletion that has locked its record
 * would wait for a weaker one, and the update for the deletion.
 */
export async function holdStored(trx: Knex, ids: readonly string[], { onConflict, effect }: Holding): Promise<void> {
  if (effect === 'tried') return;
  const lock = onConflict === 'replace' ? sql`FOR NO KEY UPDATE` : HELD;
  await rowsOf(trx, sql`SELECT FROM records WHERE id = ANY(${ids}::uuid[]) ORDER BY id ${lock}`);
}

/** Nobody begins to refer to the records that the lines at these places put into other namespaces. */
export async function holdMoved(trx: Knex, places: readonly number[], { onConflict, effect }: Holding): Promise<void> {
  if (onConflict !== 'replace' || effect === 'tried') return;
  await rowsOf(
    trx,
    // Fenced, as in store-batch.ts: for the order, the planner would walk the primary key of all records.
    sql`SELECT FROM (SELECT i.id, i.family, i.path FROM ${STAGE} WHERE i.n = ANY(${places}::int[]) ORDER BY i.id OFFSET 0) AS i
      CROSS JOIN LATERAL (SELECT FROM records AS r
        WHERE r.id = i.id AND r.family IS NOT DISTINCT FROM i.family AND r.path <> i.path OFFSET 0 FOR UPDATE) AS r`,
  );
}
