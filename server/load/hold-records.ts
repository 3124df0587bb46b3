// The locks of a batch on stored records, until it is stored. Each statement takes them in the order of ids. A dry run
// takes none of them: it only says what a load would do now, and nobody waits for it.
import type { Knex } from 'knex';
import { rowsOf, sql } from '../db/sql.js';
import { STAGE } from './stage.js';

/** Nobody moves or deletes these records: both lock their record against this lock. */
export const HELD = sql`FOR KEY SHARE`;

/**
 * Nobody deletes the records with these ids. Whoever is deleting one is waited for, so that its tombstone is there for
 * the next statement. `replace` takes at once the lock that an update needs: a deletion that has locked its record
 * would wait for a weaker one, and the update for the deletion.
 */
export async function holdStored(trx: Knex, ids: readonly string[], onConflict: 'report' | 'replace'): Promise<void> {
  const lock = onConflict === 'replace' ? sql`FOR NO KEY UPDATE` : HELD;
  await rowsOf(trx, sql`SELECT FROM records WHERE id = ANY(${ids}::uuid[]) ORDER BY id ${lock}`);
}

/** Nobody begins to refer to the records that the lines at these places put into other namespaces. */
export async function holdMoved(trx: Knex, places: readonly number[]): Promise<void> {
  await rowsOf(
    trx,
    sql`SELECT FROM records AS r JOIN ${STAGE} ON r.id = i.id AND r.family = i.family AND r.path <> i.path
      WHERE i.n = ANY(${places}::int[]) ORDER BY r.id FOR UPDATE OF r`,
  );
}
