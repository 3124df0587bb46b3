// The doors of `bailiwick/sql` on a table `invoice (id, path, amount)`, each through its own library on a real PostgreSQL: what
// an application would write. Prisma's client needs a generated schema; its fragments are `sql-template-tag`, which is what it
// runs, so the door's fragments are made and run with that.
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import knexFrom from 'knex';
import { type Generated, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import tag, { type Sql } from 'sql-template-tag';
import type { Visibility } from '../../engine/index.js';
import * as drizzleDoor from '../../server/sql/drizzle.js';
import * as knexDoor from '../../server/sql/knex.js';
import * as kyselyDoor from '../../server/sql/kysely.js';
import * as pgDoor from '../../server/sql/pg.js';
import * as prismaDoor from '../../server/sql/prisma.js';

export interface SqlDoor {
  readonly name: string;
  /** The ids of the visible rows, ascending. */
  readonly ids: (set: Visibility) => Promise<readonly number[]>;
  /** How many rows an UPDATE by id changed, for a set where the actor may write. */
  readonly update: (set: Visibility, id: number) => Promise<number>;
  readonly insert: (set: Visibility, path: string) => Promise<number>;
  readonly assertCollation: (column: string) => Promise<void>;
}

export interface OpenDoors {
  readonly doors: readonly SqlDoor[];
  readonly pool: pg.Pool;
  readonly close: () => Promise<void>;
}

interface Tables {
  readonly invoice: { readonly id: Generated<number>; readonly path: string | null; readonly amount: number };
}

const INVOICES = pgTable('invoice', { id: integer().primaryKey(), path: text(), amount: integer().notNull() });

export function openDoors(url: string): OpenDoors {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const db = knexFrom({ client: 'pg', connection: url, pool: { min: 0, max: 2 } });
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const orm = drizzle(pool);
  const rows = async (words: string, values: readonly unknown[]): Promise<readonly { readonly id: number }[]> =>
    (await pool.query<{ readonly id: number }>(words, [...values])).rows;
  const run = ({ text: words, values }: Sql): Promise<readonly { readonly id: number }[]> => rows(words, values);

  const doors: readonly SqlDoor[] = [
    {
      name: 'pg',
      ids: async (set) => {
        const visible = pgDoor.visibleWhere(set, 'i.path', 1);
        const words = `SELECT i.id FROM invoice AS i WHERE i.amount >= $1 AND ${visible.text} ORDER BY i.id`;
        return idsOf(await rows(words, [0, ...visible.values]));
      },
      update: async (set, id) => {
        const { text: where, values } = pgDoor.visibleWhere(set, 'path', 1);
        return (
          await rows(`UPDATE invoice SET amount = amount + 1 WHERE id = $1 AND ${where} RETURNING id`, [id, ...values])
        ).length;
      },
      insert: async (set, path) => {
        const { text: where, values } = pgDoor.visibleWhere(set, { value: path }, 1);
        const made = await rows(`INSERT INTO invoice (path, amount) SELECT $1, 1 WHERE ${where} RETURNING id`, [
          path,
          ...values,
        ]);
        return made.length;
      },
      assertCollation: (column) => pgDoor.assertCollation(pool, column),
    },
    {
      name: 'knex',
      ids: async (set) =>
        idsOf(
          await db<{ id: number; amount: number }>('invoice as i')
            .where(knexDoor.visibleWhere(set, 'i.path'))
            .andWhere('amount', '>=', 0)
            .orderBy('id')
            .select('id'),
        ),
      update: (set, id) =>
        db('invoice').where({ id }).andWhere(knexDoor.visibleWhere(set, 'path')).increment('amount', 1),
      insert: async (set, path) => {
        const row = db.select(db.raw('CAST(? AS text), 1', [path])).where(knexDoor.visibleWhere(set, { value: path }));
        const made: readonly unknown[] = await db(db.raw('invoice (path, amount)')).insert(row).returning('id');
        return made.length;
      },
      assertCollation: (column) => knexDoor.assertCollation(db, column),
    },
    {
      name: 'Kysely',
      ids: async (set) =>
        idsOf(
          await kysely
            .selectFrom('invoice as i')
            .where(kyselyDoor.visibleWhere(set, 'i.path'))
            .where('amount', '>=', 0)
            .orderBy('id')
            .select('id')
            .execute(),
        ),
      update: async (set, id) => {
        const changed = await kysely
          .updateTable('invoice')
          .set((eb) => ({ amount: eb('amount', '+', 1) }))
          .where('id', '=', id)
          .where(kyselyDoor.visibleWhere(set, 'path'))
          .executeTakeFirst();
        return Number(changed.numUpdatedRows);
      },
      insert: async (set, path) => {
        const made = await kysely
          .insertInto('invoice')
          .columns(['path', 'amount'])
          .expression(
            kysely
              .selectNoFrom((eb) => [eb.val(path).as('path'), eb.lit(1).as('amount')])
              .where(kyselyDoor.visibleWhere(set, { value: path })),
          )
          .returning('id')
          .execute();
        return made.length;
      },
      assertCollation: (column) => kyselyDoor.assertCollation(kysely, column),
    },
    {
      name: 'Drizzle',
      ids: async (set) =>
        idsOf(
          await orm
            .select({ id: INVOICES.id })
            .from(INVOICES)
            .where(drizzleDoor.visibleWhere(set, INVOICES.path))
            .orderBy(INVOICES.id),
        ),
      update: async (set, id) => {
        const here = drizzleSql`${INVOICES.id} = ${id} AND ${drizzleDoor.visibleWhere(set, INVOICES.path)}`;
        const more = drizzleSql`${INVOICES.amount} + 1`;
        return (await orm.update(INVOICES).set({ amount: more }).where(here).returning({ id: INVOICES.id })).length;
      },
      insert: async (set, path) => {
        const where = drizzleDoor.visibleWhere(set, { value: path });
        const made = await orm.execute(
          drizzleSql`INSERT INTO ${INVOICES} (path, amount) SELECT ${path}, 1 WHERE ${where} RETURNING id`,
        );
        return made.rows.length;
      },
      assertCollation: (column) => drizzleDoor.assertCollation(orm, column),
    },
    {
      name: 'Prisma',
      ids: async (set) => {
        const visible = prismaDoor.visibleWhere(set, 'i.path', tag);
        return idsOf(await run(tag`SELECT i.id FROM invoice AS i WHERE i.amount >= ${0} AND ${visible} ORDER BY i.id`));
      },
      update: async (set, id) => {
        const where = prismaDoor.visibleWhere(set, 'path', tag);
        return (await run(tag`UPDATE invoice SET amount = amount + 1 WHERE id = ${id} AND ${where} RETURNING id`))
          .length;
      },
      insert: async (set, path) => {
        const where = prismaDoor.visibleWhere(set, { value: path }, tag);
        return (await run(tag`INSERT INTO invoice (path, amount) SELECT ${path}, 1 WHERE ${where} RETURNING id`))
          .length;
      },
      assertCollation: (column) =>
        prismaDoor.assertCollation(
          { $queryRawUnsafe: async <R>(words: string, ...values: unknown[]) => (await rows(words, values)) as R },
          column,
        ),
    },
  ];
  const close = async (): Promise<void> => {
    await db.destroy();
    await pool.end();
  };
  return { doors, pool, close };
}

function idsOf(rows: readonly { readonly id: number }[]): readonly number[] {
  return rows.map(({ id }) => id);
}
