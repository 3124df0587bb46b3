// Releases events that a log had claimed but will never append, for whichever log comes next (docs/audit.md
// "Commands"). For logs that were moved away these are exactly the events that the logs do not have. For a lost log
// these are all that it had claimed.
import type { Database } from '../db/database.js';
import type { Store } from '../db/writing.js';
import { findLeft } from './drainer.js';
import { listLogs } from './log-files.js';
import { claimedBefore, releaseEvents } from './outbox.js';
import { lockLog } from './own-log.js';

export interface Released {
  readonly log: string;
  readonly events: number;
}

/** Records how many events were released, in the same transaction. */
export type RecordRelease = (writing: Store, events: number) => Promise<void>;

/** Null if a process holds one of the logs. Rejects if the folder cannot be read. */
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
      const left = await findLeft({ db, folder, log, end: null });
      await release(db, { log, positions: left.map(({ position }) => position) }, record);
      released.push({ log, events: left.length });
    }
    return released;
  } finally {
    for (const lock of locks) await lock?.release();
  }
}

/** If the lost log did have some of these events, another log then has them as well, under the same ids. */
export async function releaseLost(db: Database, log: string, record: RecordRelease): Promise<Released> {
  const { events } = await claimedBefore(db, log);
  await release(db, { log, positions: events.map(({ position }) => position) }, record);
  return { log, events: events.length };
}

async function release(
  db: Database,
  claimed: { readonly log: string; readonly positions: readonly string[] },
  record: RecordRelease,
): Promise<void> {
  if (claimed.positions.length === 0) return;
  await db.write(async (writing) => {
    await releaseEvents(writing, claimed);
    await record(writing, claimed.positions.length);
  });
}
