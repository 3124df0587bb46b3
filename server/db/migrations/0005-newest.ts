// Whether a policy is still the newest one in force, for statements that are decided before they are sent.
import type { Knex } from 'knex';

/** The lock that such statements share until they have committed, and that an activation waits for. */
export const NEWEST_LOCK = Object.freeze({ group: 7_214_903, one: 1 });

export async function newest(knex: Knex): Promise<void> {
  const { group, one } = NEWEST_LOCK;
  // Each query of a volatile function sees what was committed before it began. So the lock is a query of its own, before
  // the look: an activation that is not seen has not been waited for yet.
  await knex.raw(`
      CREATE FUNCTION is_newest(decided bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      IF NOT pg_try_advisory_xact_lock_shared(${String(group)}, ${String(one)}) THEN
        RETURN false;
      END IF;
      RETURN NOT EXISTS (SELECT FROM bailiwick.activations AS a WHERE a.generation > decided);
    END $$`);
}
