// How the rows of a batch get into PostgreSQL: directly into the records, or into a stage. The stage is a table of the
// transaction, typed and parsed once and gone at commit. The statements of store-batch.ts read it as `i`, with `n` as
// the place in the batch.
import type { Knex } from 'knex';
import { formatInstant, type Instant } from '../../engine/index.js';
import { copyIn, type CopyValue } from '../db/copy-in.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import type { LoadRow } from './record-line.js';

/** For use in a FROM. */
export const STAGE: Fragment = sql`load_rows AS i`;

/** The columns, each with its type and the text that a row has in it. */
const COLUMNS: readonly (readonly [column: string, type: string, text: (row: LoadRow, n: number) => CopyValue])[] = [
  ['n', 'integer', (_, n) => String(n)],
  ['family', 'smallint', ({ family }) => String(familyCode(family))],
  ['id', 'uuid', ({ id }) => id],
  ['given', 'boolean', ({ given }) => String(given)],
  ['path', 'text COLLATE "C"', ({ path }) => path],
  ['name', 'text COLLATE "C"', ({ name }) => name],
  ['description', 'text COLLATE "C"', ({ description }) => description],
  ['properties', 'jsonb', ({ properties }) => properties],
  ['version', 'text COLLATE "C"', ({ version }) => version],
  ['schema', 'jsonb', ({ schema }) => schema],
  ['slots', 'jsonb', ({ slots }) => slots],
  ['template', 'uuid', ({ template }) => template],
  ['parameters', 'jsonb', ({ parameters }) => parameters],
  ['resources', 'jsonb', ({ resources }) => resources],
  ['state', 'text COLLATE "C"', ({ state }) => state],
  ['unique_name', 'boolean', ({ uniqueName }) => String(uniqueName)],
  ['created_at', 'timestamptz(3)', ({ createdAt }) => createdAt],
  ['archived_at', 'timestamptz(3)', ({ archivedAt }) => archivedAt],
];

const CREATE = `CREATE TEMPORARY TABLE load_rows (${COLUMNS.map(([column, type]) => `${column} ${type}`).join(', ')})
  ON COMMIT DROP`;

export async function createStage(trx: Knex.Transaction): Promise<void> {
  await trx.raw(CREATE);
}

/** Adds the rows at these places of the batch. */
export function stageRows(trx: Knex.Transaction, rows: readonly LoadRow[], places: readonly number[]): Promise<void> {
  return copyIn(trx, sql`load_rows`, stagedValues(rows, places));
}

/** Removes the rows that need no more work. */
export async function unstage(trx: Knex.Transaction, places: readonly number[]): Promise<void> {
  if (places.length === 0) return;
  await rowsOf(trx, sql`DELETE FROM load_rows WHERE n = ANY(${places}::int[])`);
}

function* stagedValues(rows: readonly LoadRow[], places: readonly number[]): Generator<readonly CopyValue[]> {
  for (const n of places) {
    const row = rows[n];
    if (row !== undefined) yield COLUMNS.map(([, , text]) => text(row, n));
  }
}

/** The target of rows that are stored directly, with the columns that `recordValues` gives. */
export const RECORDS: Fragment = sql`records (family, id, path, name, description, properties, version, schema, slots,
  template, parameters, resources, state, unique_name, archived_at, created_at, updated_at, created_by, revision)`;

/** New records as they are stored, for rows that are not namespaces. */
export function* recordValues(
  rows: readonly LoadRow[],
  places: readonly number[],
  { now, createdBy }: { readonly now: Instant; readonly createdBy: string },
): Generator<readonly CopyValue[]> {
  const fallback = formatInstant(now);
  for (const n of places) {
    const row = rows[n];
    if (row === undefined) continue;
    const at = row.createdAt ?? fallback;
    yield [
      String(familyCode(row.family)),
      ...[row.id, row.path, row.name, row.description, row.properties, row.version, row.schema, row.slots],
      ...[
        row.template,
        row.parameters,
        row.resources,
        row.state,
        String(row.uniqueName),
        row.archivedAt,
        at,
        at,
        createdBy,
        '1',
      ],
    ];
  }
}
