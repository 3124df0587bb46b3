// Rows into a table by COPY FROM STDIN, the fastest way in that the protocol has, on the connection of a transaction.
import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { type CopyStreamQuery, from } from 'pg-copy-streams';
import type { Fragment } from './sql.js';

/** A value of a row; null is NULL. Of text, as the column's type reads it. */
export type CopyValue = string | null;

/** Characters, about, that go out at once. */
const CHUNK = 64 * 1024;

/** What knex's client is to us; of a transaction, it gives the transaction's one connection. */
interface KnexClient {
  readonly acquireConnection: () => Promise<{ readonly query: (copy: CopyStreamQuery) => CopyStreamQuery }>;
}

/**
 * Copies the rows into `target`, `table (column, …)`, within the transaction, no faster than the server takes them. Rejects with the
 * server's error, and with what `rows` throws once the server has been told; nothing is copied then, and the transaction can
 * only be rolled back.
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

/** The text format of COPY. */
function copyText(value: CopyValue): string {
  if (value === null) return '\\N';
  return value.replace(SPECIAL, (character) => ESCAPES.get(character) ?? character);
}
