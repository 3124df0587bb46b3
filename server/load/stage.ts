// The rows of a batch as a table of the transaction's own: copied in as they are, typed and parsed by the server once, and
// gone with the commit. The statements of store-batch.ts read them as `i`, by their place `n` in the batch.
import type { Knex } from 'knex';
import { copyIn, type CopyValue } from '../db/copy-in.js';
import { rowsOf, sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import type { LoadRow } from './record-line.js';

/** To stand in a FROM. */
export const STAGE: Fragment = sql`load_rows AS i`;

/** Each column with its type and with how a row is written into it. */
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
  ['created_at', 'timestamptz(3)', ({ createdAt }) => createdAt],
  ['archived_at', 'timestamptz(3)', ({ archivedAt }) => archivedAt],
];

const CREATE = `CREATE TEMPORARY TABLE load_rows (${COLUMNS.map(([column, type]) => `${column} ${type}`).join(', ')})
  ON COMMIT DROP`;

/** Makes the table and copies the rows into it. */
export async function stageRows(trx: Knex.Transaction, rows: readonly LoadRow[]): Promise<void> {
  await trx.raw(CREATE);
  await copyIn(trx, sql`load_rows`, valuesOf(rows));
}

/** Takes out the rows with which nothing more is to be done. */
export async function unstage(trx: Knex.Transaction, places: readonly number[]): Promise<void> {
  if (places.length === 0) return;
  await rowsOf(trx, sql`DELETE FROM load_rows WHERE n = ANY(${places}::int[])`);
}

function* valuesOf(rows: readonly LoadRow[]): Generator<readonly CopyValue[]> {
  for (const [n, row] of rows.entries()) yield COLUMNS.map(([, , text]) => text(row, n));
}
