// Rows into a table by COPY FROM STDIN, the fastest way in that the protocol has. The driver leaves it to others: this speaks
// its messages on the connection of a transaction, and takes no more rows than the server keeps up with.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Fragment } from './sql.js';

/** A value of a row; null is NULL. Of text, as the column's type reads it. */
export type CopyValue = string | null;

/** Bytes, about, that go out at once. */
const CHUNK = 64 * 1024;

interface CopyConnection {
  readonly stream: Writable;
  query: (text: string) => void;
  sendCopyFromChunk: (chunk: Buffer) => void;
  endCopyFrom: () => void;
  sendCopyFail: (message: string) => void;
}

/** The part of a driver's query that a COPY has a use for; the driver calls these as the answers come in. */
interface CopyQuery {
  readonly callback: () => void;
  readonly submit: (connection: CopyConnection) => void;
  readonly handleCopyInResponse: (connection: CopyConnection) => void;
  readonly handleCommandComplete: () => void;
  readonly handleReadyForQuery: () => void;
  readonly handleError: (error: Error) => void;
}

interface CopyClient {
  readonly query: (query: CopyQuery) => void;
}

/** What knex's client is to us; of a transaction, it gives the transaction's one connection. */
interface KnexClient {
  readonly acquireConnection: () => Promise<CopyClient>;
}

/**
 * Copies the rows into `target`, `table (column, …)`, within the transaction. Rejects with the server's error, and with what
 * `rows` throws once the server has been told; nothing is copied then, and the transaction can only be rolled back.
 */
export async function copyIn(
  trx: Knex.Transaction,
  target: Fragment,
  rows: Iterable<readonly CopyValue[]>,
): Promise<void> {
  if (target.bindings.length > 0) throw new TypeError('COPY takes no bindings');
  const client = await (trx.client as KnexClient).acquireConnection();
  await new Promise<void>((resolve, reject) => {
    let open = true;
    let failure: unknown = null;
    client.query({
      callback: () => undefined,
      submit: (connection) => {
        connection.query(`COPY ${target.text} FROM STDIN`);
      },
      handleCopyInResponse: (connection) => {
        send(connection, rows, () => open).catch((error: unknown) => {
          failure = error;
          if (open) connection.sendCopyFail('the rows could not be read');
        });
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => {
        open = false;
        resolve();
      },
      handleError: (error) => {
        open = false;
        // What made us give up says more than the server's answer to that.
        reject(failure instanceof Error ? failure : error);
      },
    });
  });
}

async function send(
  connection: CopyConnection,
  rows: Iterable<readonly CopyValue[]>,
  isOpen: () => boolean,
): Promise<void> {
  const { stream } = connection;
  let text = '';
  for (const row of rows) {
    text += `${row.map(copyText).join('\t')}\n`;
    if (text.length < CHUNK) continue;
    connection.sendCopyFromChunk(Buffer.from(text));
    text = '';
    // What the server says, and that it is gone, is heard in between only; a lost stream needs no draining.
    await (stream.writableNeedDrain ? drained(stream) : nextTurn());
    if (!isOpen()) return;
  }
  if (text !== '') connection.sendCopyFromChunk(Buffer.from(text));
  connection.endCopyFrom();
}

/** Resolves when the stream takes more, or will never: the driver tells the query of a lost connection. */
async function drained(stream: Writable): Promise<void> {
  const heard = new AbortController();
  const { signal } = heard;
  try {
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
  } finally {
    heard.abort();
  }
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
