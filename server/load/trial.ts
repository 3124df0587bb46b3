// A load that stores nothing. Each batch is stored in a transaction that is rolled back. What earlier batches have left
// is put back into it first, as far as the batch meets it. So the store itself says what it would say in earnest.
import type { Knex } from 'knex';
import { lineageOf } from '../../engine/index.js';
import { rowsOf, sql } from '../db/sql.js';
import { familyCode, IS_NAMED, storedPath } from '../db/tables.js';
import { LOAD_LIMITS } from '../limits/records.js';
import type { LoadRow } from './record-line.js';
import type { StoredBatch } from './batch.js';
import { bury } from './bury-rows.js';

export interface Trial {
  /** Stores the rows by `store`, as if earlier batches were there. The caller rolls the transaction back. */
  readonly attempt: (
    trx: Knex,
    rows: readonly LoadRow[],
    by: { readonly known: ReadonlySet<string>; readonly store: () => Promise<StoredBatch> },
  ) => Promise<StoredBatch>;
}

export function makeTrial(): Trial {
  /** The records that have changed, by id, as JSON in few bytes; null if there is none any more. */
  const left = new Map<string, Buffer | null>();
  /** Ids by places that only one record can have, and the other way round. Those who had one before count, too. */
  const ties = new Map<string, Set<string>>();
  const tie = (one: string, other: string): void => {
    ties.set(one, (ties.get(one) ?? new Set()).add(other));
  };
  const buried = new Map<string, LoadRow>();
  const learn = (found: readonly Occupant[]): void => {
    for (const { id, place } of found) {
      if (place === null) continue;
      tie(id, place);
      tie(place, id);
    }
  };
  return {
    attempt: async (trx, rows, { known, store }) => {
      const met = new Set(rows.flatMap((row) => metBy(row, known)));
      // A set is walked to its end, also to what is added meanwhile.
      for (const one of met) for (const next of ties.get(one) ?? []) met.add(next);
      await putBack(trx, new Map([...met].flatMap((id) => [[id, left.get(id)] as const])));
      await bury(
        trx,
        [...met].flatMap((id) => buried.get(id) ?? []),
      );
      const before = await occupantsAt(trx, rows);
      const stored = await store();
      const after = await leftBy(trx, stored);
      for (const [row, how] of stored.outcomes) {
        if (how === 'loaded' && row.deletedAt !== null) buried.set(row.id, row);
      }
      learn([...before, ...after]);
      const places = new Set(after.map(({ place }) => place));
      for (const { id, place } of before) if (place?.startsWith('/') === true && places.has(place)) left.set(id, null);
      for (const { id, record } of after) left.set(id, Buffer.from(record));
      return stored;
    },
  };
}

/** Everything in the store that a row may meet, by id or place. */
function metBy({ id, family, namespace, path, name, references }: LoadRow, known: ReadonlySet<string>): string[] {
  const above = known.has(path) ? [] : lineageOf(namespace).map(storedPath);
  return [
    id,
    path,
    `${String(familyCode(family))} ${path} ${name ?? ''}`,
    ...above,
    ...references.map((one) => one.id),
  ];
}

interface Occupant {
  readonly id: string;
  /** The path of a namespace, or the unique name of a record with its family and path; null if others may have it, too. */
  readonly place: string | null;
}

const PLACE = sql`CASE WHEN r.family = 0 THEN r.path
  WHEN r.family ${IS_NAMED} AND r.unique_name AND r.archived_at IS NULL THEN r.family::text || ' ' || r.path || ' ' || r.name END`;

/** The records that the rows are about. */
function occupantsAt(trx: Knex, rows: readonly LoadRow[]): Promise<readonly Occupant[]> {
  const ids = rows.map(({ id }) => id);
  const paths = rows.map(({ path }) => path);
  return rowsOf<Occupant>(
    trx,
    sql`SELECT r.id, ${PLACE} AS place FROM records AS r WHERE r.id = ANY(${ids}::uuid[])
      UNION SELECT r.id, r.path FROM records AS r WHERE r.family = 0 AND r.path = ANY(${paths}::text[])`,
  );
}

interface Left extends Occupant {
  readonly record: string;
}

/** The records that a batch has written. */
function leftBy(trx: Knex, { outcomes, namespaces }: StoredBatch): Promise<readonly Left[]> {
  const written = [...outcomes].filter(([, outcome]) => outcome === 'loaded' || outcome === 'replaced');
  const ids = written.map(([{ id }]) => id);
  const described = written.flatMap(([{ family, path }]) => (family === 'namespace' ? [path] : []));
  const paths = [...new Set([...namespaces, ...described])];
  const columns = sql`r.id, ${PLACE} AS place, to_json(r)::text AS record FROM records AS r`;
  return rowsOf<Left>(
    trx,
    sql`SELECT ${columns} WHERE r.id = ANY(${ids}::uuid[])
      UNION SELECT ${columns} WHERE r.family = 0 AND r.path = ANY(${paths}::text[])`,
  );
}

/** Puts these records in place of what the store has under their ids. */
async function putBack(trx: Knex, records: ReadonlyMap<string, Buffer | null | undefined>): Promise<void> {
  const changed = [...records].flatMap(([id, record]) => (record === undefined ? [] : [{ id, record }]));
  if (changed.length === 0) return;
  const ids = changed.map(({ id }) => id);
  await rowsOf(trx, sql`DELETE FROM records WHERE id = ANY(${ids}::uuid[])`);
  for (const texts of inParts(changed.flatMap(({ record }) => (record === null ? [] : [record])))) {
    const given = sql`unnest(${texts}::text[]) AS t (record) CROSS JOIN LATERAL json_populate_record(NULL::records, t.record::json) AS j`;
    await rowsOf(trx, sql`INSERT INTO records SELECT j.* FROM ${given} ON CONFLICT DO NOTHING`);
    // The store marks new records by their templates, of which not all need be there.
    await rowsOf(
      trx,
      sql`UPDATE records AS r SET unique_name = j.unique_name FROM ${given} WHERE r.id = j.id AND r.unique_name <> j.unique_name`,
    );
  }
}

function* inParts(records: readonly Buffer[]): Generator<readonly string[]> {
  let part: string[] = [];
  let bytes = 0;
  for (const record of records) {
    part.push(record.toString());
    bytes += record.length;
    if (bytes < LOAD_LIMITS.batches.embedded.bytes) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}
