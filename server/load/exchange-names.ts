// Lines that exchange unique names, or pass them on: the store would refuse the first to come, as the name is still that
// of another. So records whose names other lines take give up theirs first.
import type { Knex } from 'knex';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { IS_NAMED } from '../db/tables.js';
import { STAGE } from './stage.js';

/** `places` are those of the lines that are to replace what is stored. This is a change of its own, with a revision. */
export async function giveUpNames(trx: Knex, places: readonly number[]): Promise<void> {
  await rowsOf(
    trx,
    sql`UPDATE records AS r SET unique_name = false, revision = r.revision + 1
      FROM ${STAGE} JOIN load_rows AS j ON j.family = i.family AND j.n = ANY(${places}::int[])
      WHERE i.n = ANY(${places}::int[]) AND r.id = i.id AND r.family IS NOT DISTINCT FROM i.family AND i.family ${IS_NAMED} AND r.unique_name
        AND r.archived_at IS NULL AND j.id <> r.id AND j.path = r.path AND j.name = r.name
        AND ((i.path, i.name) IS DISTINCT FROM (r.path, r.name) OR i.archived_at IS NOT NULL OR NOT ${MARK})`,
  );
}

/** What `unique_name` is of a record `r` that is replaced by a line `i`. Of a template it stays as it is. */
export const MARK: Fragment = sql`CASE WHEN r.family ${IS_NAMED}
    THEN COALESCE((SELECT t.unique_name FROM records AS t WHERE t.id = i.template AND t.family IS NOT DISTINCT FROM r.family - 1), false)
    ELSE r.unique_name END`;
