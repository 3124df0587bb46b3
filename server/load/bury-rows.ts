// Lines that say that a record was deleted.
import type { Knex } from 'knex';
import { rowsOf, sql } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import type { Batch, RecordRefusal } from './batch.js';
import { holdStored } from './hold-records.js';
import type { LoadRow } from './record-line.js';

/** Keeps of deleted records what their rows say, so that no dataset brings them back and others may still name them. */
export async function buryRows({ trx, rows, options, outcomes }: Batch): Promise<void> {
  const gone = rows.filter(({ deletedAt }) => deletedAt !== null);
  if (gone.length === 0) return;
  const ids = gone.map(({ id }) => id);
  await holdStored(trx, ids, options);
  const buried = new Set((await bury(trx, gone)).map(({ id }) => id));
  const found = await rowsOf<{ readonly id: string; readonly family: number }>(
    trx,
    sql`SELECT id, family FROM tombstones WHERE id = ANY(${ids}::uuid[])`,
  );
  const families = new Map(found.map(({ id, family }) => [id, family]));
  for (const row of gone) {
    const isThere = families.get(row.id) === familyCode(row.family);
    outcomes.set(row, buried.has(row.id) ? 'loaded' : isThere ? 'unchanged' : NOT_DELETED);
  }
}

/** Answers with those that are new. */
export function bury(trx: Knex, rows: readonly LoadRow[]): Promise<readonly { readonly id: string }[]> {
  const columns = [
    rows.map(({ id }) => id),
    rows.map(({ family }) => familyCode(family)),
    rows.map(({ path }) => path),
    rows.map(({ deletedAt }) => deletedAt),
  ] as const;
  return rowsOf(
    trx,
    sql`INSERT INTO tombstones (id, family, path, revision, deleted_at)
      SELECT t.id, t.family, t.path, 1, t.at
      FROM unnest(${columns[0]}::uuid[], ${columns[1]}::smallint[], ${columns[2]}::text[], ${columns[3]}::timestamptz[]) AS t (id, family, path, at)
      WHERE NOT EXISTS (SELECT FROM records AS r WHERE r.id = t.id)
      ON CONFLICT DO NOTHING RETURNING id`,
  );
}

const NOT_DELETED: RecordRefusal = Object.freeze({
  code: 'record.conflict',
  pointer: '/id',
  message: 'the record with this id is in the store, or a deleted one of another family had it; `load` deletes nothing',
});
