// Writes rows into a table by COPY FROM STDIN on the connection of a transaction. The protocol has no faster way to
// write.
import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { type CopyStreamQuery, from } from 'pg-copy-streams';
import type { Fragment } from './sql.js';

/** A value of a row; null is NULL. The text is in the form that the column's type reads. */
export type CopyValue = string | null;

/** About how many characters are sent at once. */
const CHUNK = 64 * 1024;

/** The part of knex's client that is used here. In a transaction it returns the transaction's one connection. */
interface KnexClient {
  readonly acquireConnection: () => Promise<{ readonly query: (copy: CopyStreamQuery) => CopyStreamQuery }>;
}

/**
 * Copies the rows into `target`, `table (column, …)`, within the transaction, no faster than the server takes them.
 * Rejects with the server's error, and with what `rows` throws once the server has been told. In both cases nothing is
 * copied, and the transaction can only be rolled back.
 */
export async function copyIn(
  trx: Knex.Transaction,
  target: Fragment,
  rows: Iterable<readonly CopyValue[]>,
): Promise<void> {
  if (target.bindings.length > 0) throw new TypeError('COPY takes no bindings');
  const client = await (trx.client as KnexClient).acquireConnection();
  await pipeline(chunksOf(rows), client.query(from(`COPY ${target.text} FROM STDIN`)));
}

function* chunksOf(rows: Iterable<readonly CopyValue[]>): Generator<Buffer> {
  let text = '';
  for (const row of rows) {
    text += `${row.map(copyText).join('\t')}\n`;
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}

const SPECIAL = /[\\\n\r\t]/g;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);

/** A value in the text format of COPY. */
function copyText(value: CopyValue): string {
  if (value === null) return '\\N';
  return value.replace(SPECIAL, (character) => ESCAPES.get(character) ?? character);
}
