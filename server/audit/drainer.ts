// Carries events from the outbox to the log: they are claimed, appended, synced to the disk, and only then removed.
// Claimed events stay in memory until they are removed, or handed back because the log cannot be written. After a crash the log itself shows which of them it has, so
// each is appended exactly once.
import type { Database } from '../db/database.js';
import { AUDIT_LIMITS } from '../limits/logs.js';
import { secondsSince } from '../lib/moment.js';
import type { Logger } from '../lib/ports.js';
import type { Head } from './chain.js';
import { checkChain } from './check-chain.js';
import { isStoredEvent } from './event-schema.js';
import { listLogs } from './log-files.js';
import { LostLog } from './own-log.js';
import {
  type Claimed,
  claimedBefore,
  claimedByOthers,
  claimEvents,
  type LogLocation,
  noteHead,
  releaseEvents,
  removeAppended,
  removeEvents,
} from './outbox.js';
import { readFiles } from './read-log.js';
import type { Writer } from './writer.js';

export interface Drainer {
  /** Tells the drainer that the outbox has events. */
  readonly wake: () => void;
  /** Since when the outbox could not be emptied, on the monotonic clock, and for what reason; null while it can. */
  readonly failing: () => DrainFailure | null;
  /** How many events other logs have claimed that do not take them, as of the last look. */
  readonly stuck: () => number;
  /** Empties the outbox once more, then ends. */
  readonly close: () => Promise<void>;
}

export interface DrainFailure {
  readonly since: number;
  readonly by: 'files' | 'store';
}

export interface DrainerOptions {
  readonly db: Database;
  readonly folder: string;
  readonly log: string;
  readonly writer: Writer;
  /** Whether this process still owns the log. */
  readonly isOwner: () => Promise<boolean>;
  readonly logger: Logger;
  readonly place: LogLocation;
  /** Milliseconds between looks at what other logs have claimed. */
  readonly lookInterval?: number;
}

interface Waiting {
  readonly first: string;
  /** Null for a log that may take them yet. */
  readonly told: { readonly events: number; readonly at: number } | null;
}

interface Pending extends Claimed {
  /** Whether the writer has it. */
  isAdded: boolean;
}

export async function makeDrainer(options: DrainerOptions): Promise<Drainer> {
  const { db, folder, log, writer, isOwner, logger, place, lookInterval = AUDIT_LIMITS.lookInterval } = options;
  let pending: readonly Pending[] = (await findLeft({ db, folder, log, end: writer.head().seq })).map((one) => ({
    ...one,
    isAdded: false,
  }));
  let failing: DrainFailure | null = null;
  let working: Promise<void> | null = null;
  let isWoken = false;
  let isUnsure = false;
  let isHandingBack = false;
  let noted: Head = writer.head();
  let notedAt = performance.now();
  let lookedAt = performance.now();
  /** Of each other log, at the last look: its first claimed event, and what the log of this gateway has said of it. */
  let waiting = new Map<string, Waiting>();
  let removed = 0;
  let carriedAt = -Infinity;

  /** If the answer to a claim was lost, the claim may have been made. */
  const claim = async (): Promise<readonly Claimed[]> => {
    if (isUnsure) {
      const { events } = await claimedBefore(db, log);
      isUnsure = false;
      if (events.length > 0) return events;
    }
    isUnsure = true;
    const claimed = await claimEvents(db, { log, after: writer.head().seq, most: AUDIT_LIMITS.drained });
    isUnsure = false;
    return claimed;
  };

  /** Those that the log will not have soon are for other gateways. */
  const handBack = async (): Promise<void> => {
    // The next owner of the log appends them, who may have it in another place.
    if (!(await isOwner().catch(() => false))) return;
    const back = writer.takeBack(new Set(pending.map(({ event }) => event)));
    pending = pending.map((one) => (back.has(one.event) ? { ...one, isAdded: false } : one));
    const free = pending.flatMap(({ position, isAdded }) => (isAdded ? [] : [position]));
    if (free.length === 0) return;
    isHandingBack = true;
    await releaseEvents(db, { log, positions: free });
    [pending, isHandingBack] = [pending.filter(({ isAdded }) => isAdded), false];
    logger.warn({ log, events: free.length }, 'events of commands were handed back, for other gateways to record');
  };

  /** If the answer to a release was lost, the events may be those of another log by now. */
  const keepOwn = async (): Promise<void> => {
    if (!isHandingBack) return;
    const own = new Set((await claimedBefore(db, log)).events.map(({ position }) => position));
    [pending, isHandingBack] = [pending.filter(({ position, isAdded }) => isAdded || own.has(position)), false];
  };

  /** Carries everything that is in the outbox at this moment. False if that has to wait for the files of the log. */
  const drain = async (): Promise<boolean> => {
    await keepOwn();
    for (let isMore = true; isMore || pending.length > 0;) {
      if (pending.length === 0) {
        isWoken = false;
        if (writer.failingSince() !== null) return false;
        // What is claimed for a log of another process stays until that process starts again.
        if (!(await isOwner())) throw new LostLog('another process has taken over the log');
        pending = (await claim()).map((one) => ({ ...one, isAdded: false }));
        if (pending.length === 0) return true;
        const bytes = pending.reduce((sum, one) => sum + one.bytes, 0);
        isMore = pending.length >= AUDIT_LIMITS.drained || bytes >= AUDIT_LIMITS.drainedBytes;
      }
      for (const one of pending) one.isAdded ||= writer.add(one.event);
      await writer.sync();
      if (!pending.every(({ isAdded }) => isAdded)) continue;
      const head = writer.head();
      await removeAppended(
        db,
        pending.map(({ position }) => position),
        { ...place, ...head, log },
      );
      noted = head;
      removed += pending.length;
      carriedAt = performance.now();
      pending = [];
    }
    return true;
  };

  /** The embedded engine has no autovacuum, and would step over every row that the outbox ever had. */
  const tidy = async (): Promise<void> => {
    if (db.kind !== 'embedded' || removed < AUDIT_LIMITS.removedBeforeTidying) return;
    removed = 0;
    await db.vacuum('audit_outbox');
  };

  const note = async (): Promise<void> => {
    const head = writer.head();
    if (head.seq === noted.seq) return;
    await noteHead(db, { ...place, ...head, log });
    noted = head;
    notedAt = performance.now();
  };

  /** A running gateway carries what it has claimed within a second. A log that was moved away never does. */
  const look = async (): Promise<void> => {
    lookedAt = performance.now();
    const others = await claimedByOthers(db, log);
    const looked = others.map(({ log: other, events, first }): readonly [string, Waiting] => {
      const before = waiting.get(other);
      if (before?.first !== first) return [other, { first, told: null }];
      const { told } = before;
      if (told?.events === events && lookedAt - told.at < AUDIT_LIMITS.repeatInterval) return [other, before];
      logger.error(
        { log: other, events },
        'events wait for an audit log that does not take them: see `bailiwick audit release`',
      );
      return [other, { first, told: { events, at: lookedAt } }];
    });
    waiting = new Map(looked);
  };

  const noteHandBack = (error: unknown): void => {
    logger.warn({ log, error }, 'events of commands could not be handed back to the store yet');
  };

  const work = async (): Promise<void> => {
    try {
      if (!(await drain())) return;
      await tidy();
      if (performance.now() - notedAt >= AUDIT_LIMITS.headInterval) await note();
      if (performance.now() - lookedAt >= lookInterval) await look();
      if (failing !== null) {
        const line = { log, seconds: secondsSince(failing.since) };
        logger.info(line, 'events of commands reach the audit log again');
      }
      failing = null;
    } catch (error) {
      const by = writer.failingSince() === null && !(error instanceof LostLog) ? 'store' : 'files';
      if (failing?.by !== by) logger.error({ log, error }, STUCK[by]);
      failing = { since: failing?.since ?? performance.now(), by };
      if (by === 'files') await handBack().catch(noteHandBack);
    }
  };

  let soon: NodeJS.Timeout | null = null;

  const run = (): Promise<void> => {
    if (soon !== null) clearTimeout(soon);
    soon = null;
    working ??= work().finally(() => {
      working = null;
      if (isWoken) runSoon();
    });
    return working;
  };

  /** Waits a moment, so that events that arrive together are carried together: each run costs two transactions and an fsync. */
  const runSoon = (): void => {
    if (failing !== null || working !== null) return;
    const isBusy = performance.now() - carriedAt < AUDIT_LIMITS.drainDelay;
    const delay = isBusy ? AUDIT_LIMITS.drainDelay : AUDIT_LIMITS.groupDelay;
    soon ??= setTimeout(() => void run(), delay).unref();
  };

  const timer = setInterval(() => void run(), AUDIT_LIMITS.retryDelay).unref();
  return {
    wake: () => {
      isWoken = true;
      runSoon();
    },
    failing: () => failing,
    stuck: () => [...waiting.values()].reduce((sum, { told }) => sum + (told?.events ?? 0), 0),
    close: async () => {
      clearInterval(timer);
      await working;
      await run();
      if (soon !== null) clearTimeout(soon);
      // Waits for all events, including those that were never in an outbox.
      await writer
        .sync()
        .then(note, () => undefined)
        .catch(() => undefined);
    },
  };
}

/** Each names what has to be mended. */
const STUCK = Object.freeze({
  files: 'events of commands wait in the store, because the files of the audit log cannot be written',
  store: 'events of commands wait in the store, because it does not give them to the audit log',
});

interface LeftOptions extends Pick<DrainerOptions, 'db' | 'folder' | 'log'> {
  /** The number of the last event of the log. Null if that is whatever is last in its files. */
  readonly end: number | null;
}

/**
 * What an earlier process of this log had claimed but the log does not have. What the log does have is removed from the
 * outbox. What an owner has written who had lost the log is none of it.
 */
export async function findLeft({ db, folder, log, end }: LeftOptions): Promise<readonly Claimed[]> {
  const { events, after } = await claimedBefore(db, log);
  if (events.length === 0) return [];
  const wanted = new Set(events.map(({ event }) => event.id));
  const appended = new Set<string>();
  const all = (await listLogs(folder)).get(log) ?? [];
  const files = all.slice(
    Math.max(
      0,
      all.findLastIndex((file) => file.first <= after + 1),
    ),
  );
  // Faults are for those who verify the log.
  const before = { seq: (files[0]?.first ?? 1) - 1, hash: '' };
  const check = checkChain(log, { report: () => undefined, after: before });
  for (const [index, file] of files.entries()) {
    check.begin(files[index + 1]?.first ?? (end === null ? null : end + 1));
    for await (const { lines } of readFiles([file])) {
      for (const line of lines) {
        const event = check.isLate(line) ? null : check.line(line)?.value;
        if (isStoredEvent(event) && wanted.has(event.id)) appended.add(event.id);
      }
    }
  }
  const done = events.filter(({ event }) => appended.has(event.id)).map(({ position }) => position);
  if (done.length > 0) await removeEvents(db, done);
  return events.filter(({ event }) => !appended.has(event.id));
}
