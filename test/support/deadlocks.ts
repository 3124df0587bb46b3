// The deadlocks that a server has ended, for tests of what commands lock.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../server/db/database.js';
import { rowsOf, sql } from '../../server/db/sql.js';

/** How many deadlocks the server has ended in this database. Connections say so after their next statement, a second later. */
export async function deadlocksOf({ knex }: Database): Promise<number> {
  await sleep(1_200);
  await Promise.all(Array.from({ length: 20 }, () => knex.raw('SELECT pg_sleep(0.05)')));
  await sleep(200);
  const [row] = await rowsOf<{ readonly deadlocks: number }>(
    knex,
    sql`SELECT deadlocks::integer AS deadlocks FROM pg_stat_database
      WHERE datname = current_database() AND ${true}::boolean`,
  );
  return row?.deadlocks ?? 0;
}
