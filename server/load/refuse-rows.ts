// Rows that are not stored, each with the reason. Each function answers with the places of those it refuses.
import type { Knex } from 'knex';
import { rowsOf, sql } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import type { Reference } from '../records/content.js';
import type { Batch, RecordRefusal } from './batch.js';
import { heldFor, holdStored } from './hold-records.js';
import type { LoadRow } from './record-line.js';
import { violations } from './template-rules.js';

/** What was deleted stays deleted, even where a dataset still has it. */
export async function refuseDeleted(
  { trx, rows, options, outcomes }: Batch,
  wave: readonly number[],
): Promise<readonly number[]> {
  const ids = wave.flatMap((n) => rows[n]?.id ?? []);
  await holdStored(trx, ids, options);
  const found = await rowsOf<{ readonly id: string }>(
    trx,
    sql`SELECT id FROM tombstones WHERE id = ANY(${ids}::uuid[])`,
  );
  const gone = new Set(found.map(({ id }) => id));
  return wave.filter((n) => {
    const row = rows[n];
    if (row === undefined || !gone.has(row.id)) return false;
    const message = 'the record with this id was deleted, and no other can have it';
    outcomes.set(row, { code: 'record.deleted', pointer: row.given ? '/id' : '', message });
    return true;
  });
}

/**
 * Refuses rows with dangling references. A reference must point to a record of the right family, at or above the row's
 * namespace, that is in the store or on an earlier line. It may also point to one of which an earlier line says that it
 * was deleted. Unchecked, a reference is right if the store has that record anywhere, or has deleted it.
 */
export async function refuseDangling(
  { trx, rows, options, outcomes }: Batch,
  wave: readonly number[],
): Promise<readonly number[]> {
  const ids = [...new Set(wave.flatMap((n) => rows[n]?.references.map(({ id }) => id) ?? []))];
  if (ids.length === 0) return [];
  const found = await rowsOf<Target>(
    trx,
    sql`SELECT id, family, path FROM records WHERE id = ANY(${ids}::uuid[]) ORDER BY id ${heldFor(options)}`,
  );
  const targets = new Map(found.map((target) => [target.id, target]));
  const gone = ids.filter((id) => !targets.has(id));
  for (const target of gone.length === 0 ? [] : await deletedOf(trx, gone)) targets.set(target.id, target);
  const unchecked = options.templates === null;
  const here = [...outcomes].filter(
    ([{ deletedAt }, how]) => how === 'loaded' || (how === 'unchanged' && deletedAt !== null),
  );
  const fresh = new Map(here.map(([{ id, line }]) => [id, line]));
  return wave.filter((n) => {
    const row = rows[n];
    const dangling = row?.references.find(({ id, family }) => {
      const target = targets.get(id);
      if (target?.family !== familyCode(family) || (fresh.get(id) ?? 0) >= row.line) return true;
      if (unchecked) return false;
      return target.path === null ? !options.buried.has(id) && !fresh.has(id) : !row.path.startsWith(target.path);
    });
    if (row !== undefined && dangling !== undefined) outcomes.set(row, referenceNotFound(dangling));
    return dangling !== undefined;
  });
}

interface Target {
  readonly id: string;
  readonly family: number;
  /** Null if it was deleted. */
  readonly path: string | null;
}

function deletedOf(trx: Knex, ids: readonly string[]): Promise<readonly Target[]> {
  return rowsOf<Target>(trx, sql`SELECT id, family, NULL AS path FROM tombstones WHERE id = ANY(${ids}::uuid[])`);
}

/** Refuses the rows that their templates' schemas refuse. */
export async function refuseInvalid(
  { trx, rows, options, outcomes }: Batch,
  wave: readonly number[],
): Promise<readonly number[]> {
  if (options.templates === null) return [];
  const made = new Map<number, LoadRow>();
  for (const n of wave) {
    const row = rows[n];
    if (row !== undefined && row.template !== null) made.set(n, row);
  }
  if (made.size === 0) return [];
  const found = await violations(trx, made, options.templates);
  for (const [n, violation] of found) {
    const row = rows[n];
    if (row !== undefined) outcomes.set(row, violation);
  }
  return [...found.keys()];
}

function referenceNotFound({ pointer, family }: Reference): RecordRefusal {
  const message = `is not the id of a ${family} in the lineage of the namespace, on an earlier line or in the store`;
  return { code: 'reference.not_found', pointer, message };
}
