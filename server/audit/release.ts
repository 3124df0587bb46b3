// Events that a log had claimed and will not append any more, given to whichever log comes next (docs/audit.md "Commands"): of logs that
// were moved away exactly those that they do not have; of one that is lost all of them.
import type { Knex } from 'knex';
import type { Database } from '../db/database.js';
import { findLeft } from './drainer.js';
import { listLogs } from './log-files.js';
import { claimedBefore, releaseEvents } from './outbox.js';
import { lockLog } from './own-log.js';

export interface Released {
  readonly log: string;
  readonly events: number;
}

/** Records how many were released, in the transaction that does it. */
export type RecordRelease = (transaction: Knex.Transaction, events: number) => Promise<void>;

/** Null where a process has one of the logs; rejects where the folder cannot be read. */
export async function releaseFolder(
  db: Database,
  folder: string,
  record: RecordRelease,
): Promise<readonly Released[] | null> {
  const released: Released[] = [];
  const logs = [...(await listLogs(folder)).keys()];
  const locks = logs.map((log) => lockLog(folder, log));
  try {
    if (locks.includes(null)) return null;
    for (const log of logs) {
      const left = await findLeft({ db, folder, log });
      await release(
        db,
        left.map(({ position }) => position),
        record,
      );
      released.push({ log, events: left.length });
    }
    return released;
  } finally {
    for (const lock of locks) lock?.release();
  }
}

/** Whatever the log may have had is in another one as well then, under the same id. */
export async function releaseLost(db: Database, log: string, record: RecordRelease): Promise<Released> {
  const { events } = await claimedBefore(db.knex, log);
  await release(
    db,
    events.map(({ position }) => position),
    record,
  );
  return { log, events: events.length };
}

async function release(db: Database, positions: readonly string[], record: RecordRelease): Promise<void> {
  if (positions.length === 0) return;
  await db.transaction(async (transaction) => {
    await releaseEvents(transaction, positions);
    await record(transaction, positions.length);
  });
}
