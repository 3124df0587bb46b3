// COPY FROM STDIN through the driver, which does not support it by itself.
import { EventEmitter } from 'node:events';
import type pg from 'pg';

interface WireConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Sends `lines` as the data of the COPY statement `sql`; rejects with the server's error. */
export function copyIn(client: pg.Client, sql: string, lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let failed = false;
    const submittable = Object.assign(new EventEmitter(), {
      callback: () => undefined,
      submit: (connection: WireConnection) => {
        connection.query(sql);
      },
      handleCopyInResponse: (connection: WireConnection) => {
        for (const line of lines) connection.sendCopyFromChunk(Buffer.from(line));
        connection.endCopyFrom();
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => {
        if (!failed) resolve();
      },
      handleError: (error: Error) => {
        failed = true;
        reject(error);
      },
    });
    client.query(submittable as unknown as pg.Submittable);
  });
}
