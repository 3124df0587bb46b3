// Appends events to one log, in groups, each written and synced before the next. Events are kept until they are on the
// disk, whatever fails. If a write or fsync of a file fails, the file is cut back to what is known to be on the disk
// and abandoned, and the log goes on in a new file.
//
// A process may lose the log between any two steps, and then what it does must change no file of the next owner. So it
// writes and cuts only through handles of files that it has made itself, and removes none.
import { AUDIT_LIMITS } from '../limits/logs.js';
import { endsWithin } from '../lib/ends-within.js';
import { secondsSince } from '../lib/moment.js';
import { systemCodeOf } from '../lib/small-file.js';
import type { Logger } from '../lib/ports.js';
import { type Head, link } from './chain.js';
import { type PreparedEvent, sealEvent } from './prepare-event.js';
import type { AppendFile, FileLayer } from './file-layer.js';
import { logFilePath } from './log-files.js';

export interface Writer {
  /**
   * Queues an event. It reaches the disk within `AUDIT_LIMITS.groupDelay` plus an fsync. An event with `written` has room
   * already, and `written` is called once it is on the disk. False if there is no room for another event.
   */
  readonly add: (event: PreparedEvent, written?: () => void) => boolean;
  /** Whether there is room only for events that have it already. */
  readonly isFull: () => boolean;
  /**
   * Writes now and resolves once all events that were added before are on the disk, whatever is added meanwhile.
   * Rejects if that fails now; the log goes on trying. Rejects after `close`, too.
   */
  readonly sync: () => Promise<void>;
  /** Takes those of the events back that are certainly not on the disk. Nobody may wait in `sync` meanwhile. */
  readonly takeBack: (events: ReadonlySet<PreparedEvent>) => ReadonlySet<PreparedEvent>;
  /** The head of the log as it is on the disk. */
  readonly head: () => Head;
  /** Since when nothing could be written, on the monotonic clock; null while all is well. */
  readonly failingSince: () => number | null;
  /** Tries once more to get everything onto the disk, then takes no more. False if the disk has not answered in time. */
  readonly close: () => Promise<boolean>;
}

export interface WriterOptions {
  readonly folder: string;
  readonly log: string;
  /** Where the log ends. */
  readonly head: Head;
  readonly files: FileLayer;
  /** Whether this process still owns the log. */
  readonly isOwner: () => Promise<boolean>;
  readonly logger: Logger;
  /** A new file is begun once the current one has this many bytes. */
  readonly fileBytes?: number;
  /** Milliseconds before a failed write is tried again. */
  readonly retryDelay?: number;
  /** Milliseconds after which a write that has not ended counts as failing. */
  readonly patience?: number;
}

/** Who waits until so many events are on the disk. */
interface Waiter {
  readonly events: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Queued {
  readonly event: PreparedEvent;
  readonly written: (() => void) | null;
}

interface Line {
  readonly queued: Queued;
  readonly line: Buffer;
}

interface OpenFile {
  readonly path: string;
  readonly file: AppendFile;
  /** How many bytes are on the disk, and the last line of them. */
  bytes: number;
  end: Buffer;
}

const MOVED = 'the file of the log was moved or removed';

/** As much as a small disk that has room again takes. */
const PROBE = Buffer.alloc(64 * 1024, ' ');

export function makeWriter(options: WriterOptions): Writer {
  const { folder, log, files, isOwner, logger } = options;
  const { fileBytes = AUDIT_LIMITS.fileBytes, retryDelay = AUDIT_LIMITS.retryDelay } = options;
  const { patience = AUDIT_LIMITS.writePatience } = options;
  /** Events that are not linked yet. */
  let queue: Queued[] = [];
  /** Events that are linked but not known to be on the disk. */
  let unsynced: Line[] = [];
  let linked = options.head;
  let synced = options.head;
  let current: OpenFile | null = null;
  /** A file that may hold more than is known to be on the disk. */
  let left: OpenFile | null = null;
  let failing: number | null = null;
  /** A failure may turn into another one before it ends. */
  let failingBy: string | null = null;
  let working: Promise<void> | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  /** How many events were added, and how many of them are on the disk. */
  let [added, written] = [0, 0];
  /** Events that wait without having had room before. */
  let roomless = 0;
  let waiters: readonly Waiter[] = [];

  /** All or nothing: an event that was linked is not in the queue any more. */
  const linkQueued = (): void => {
    let bytes = unsynced.reduce((sum, { line }) => sum + line.length, 0);
    let head = linked;
    const lines: Line[] = [];
    for (const queued of queue) {
      if (bytes >= AUDIT_LIMITS.groupBytes) break;
      const next = link(sealEvent(queued.event), log, head);
      const line = Buffer.from(`${next.line}\n`);
      head = next.head;
      bytes += line.length;
      lines.push({ queued, line });
    }
    [queue, unsynced, linked] = [queue.slice(lines.length), [...unsynced, ...lines], head];
  };

  const checkOwner = async (): Promise<void> => {
    if (!(await isOwner())) throw new Error('another process has taken over the log');
  };

  /**
   * Makes the file that was left hold nothing but what is known to be on the disk. Whoever put another file in its place
   * has put back the log, if that one ends alike.
   */
  const settle = async (): Promise<void> => {
    if (left === null) return;
    const { path, file, bytes, end } = left;
    if (await file.isInPlace()) {
      await file.truncate(bytes);
      await file.sync();
      // The next file needs the same name.
      if (bytes === 0) current = left;
    } else if (bytes > 0 && !(await files.isLike(path, { bytes, end }))) throw new Error(MOVED);
    if (current !== left) await file.close().catch(() => undefined);
    left = null;
  };

  /** An owner that had lost the log may have made a file of this name. Nothing of the log is in it. */
  const create = async (path: string): Promise<AppendFile> => {
    try {
      return await files.create(path);
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
      await checkOwner();
      await files.setAside(path);
      logger.warn({ log, path }, 'a file that another owner of the audit log had begun was set aside');
      return files.create(path);
    }
  };

  const openFile = async (): Promise<OpenFile> => {
    await settle();
    if (current !== null) return current;
    const path = logFilePath(folder, log, synced.seq + 1);
    return (current = { path, file: await create(path), bytes: 0, end: Buffer.alloc(0) });
  };

  /** To the end of the log's file. */
  const write = async (bytes: Buffer): Promise<OpenFile> => {
    await checkOwner();
    const open = await openFile();
    if (!(await open.file.isInPlace())) throw new Error(MOVED);
    for (let at = 0; at < bytes.length;) {
      const appended = await open.file.append(bytes.subarray(at));
      if (appended <= 0) throw new Error('nothing could be written');
      at += appended;
    }
    await open.file.sync();
    return open;
  };

  const writeGroup = async (): Promise<void> => {
    const bytes = Buffer.concat(unsynced.map(({ line }) => line));
    const open = await write(bytes);
    // A disk may take what it is given so late that somebody else has the log by then.
    await checkOwner();
    open.bytes += bytes.length;
    open.end = unsynced.at(-1)?.line ?? open.end;
    written += unsynced.length;
    for (const { queued } of unsynced) {
      if (queued.written === null) roomless -= 1;
      else queued.written();
    }
    unsynced = [];
    synced = linked;
    if (open.bytes < fileBytes) return;
    current = null;
    await open.file.close();
  };

  /** Without events to write, tells whether the disk takes some again. Blanks count as nothing, also if a crash leaves them. */
  const probe = async (): Promise<void> => {
    const { file, bytes } = await write(PROBE);
    await file.truncate(bytes);
    await file.sync();
  };

  /** Then the events wait as if they had never been linked, unless some of them may be on the disk. */
  const leaveFile = async (): Promise<void> => {
    left ??= current;
    current = null;
    // Otherwise the next attempt begins with this.
    const isSettled = await settle().then(
      () => true,
      () => false,
    );
    if (!isSettled) return;
    queue = [...unsynced.map(({ queued }) => queued), ...queue];
    [unsynced, linked] = [[], synced];
  };

  const fail = (error: unknown, since: number): void => {
    const by = systemCodeOf(error);
    if (failing === null || by !== failingBy)
      logger.error({ log, seq: synced.seq, error }, 'the audit log cannot be written');
    failingBy = by;
    failing ??= since;
  };

  /** A disk may neither take a write nor refuse it. */
  const inTime = async (write: () => Promise<void>): Promise<void> => {
    const begun = performance.now();
    const late = setTimeout(() => {
      fail(new Error('the disk does not answer'), begun);
    }, patience).unref();
    try {
      await write();
    } finally {
      clearTimeout(late);
    }
  };

  const tellWaiters = (): void => {
    for (const { events, resolve } of waiters) if (events <= written) resolve();
    waiters = waiters.filter(({ events }) => events > written);
  };

  const recover = (): void => {
    if (failing !== null) {
      const line = { log, seq: synced.seq, seconds: secondsSince(failing) };
      logger.info(line, 'the audit log can be written again');
    }
    failing = null;
  };

  /** Ends when nothing is left to write, or with a failure, which is noted and tried again. */
  const work = async (): Promise<void> => {
    try {
      while (queue.length + unsynced.length > 0) {
        linkQueued();
        await inTime(writeGroup);
        recover();
        tellWaiters();
      }
      if (failing !== null) await inTime(probe);
      recover();
    } catch (error) {
      fail(error, performance.now());
      await leaveFile();
      tellWaiters();
      const refused = waiters;
      waiters = [];
      for (const { reject } of refused) reject(error);
      schedule(retryDelay);
    }
  };

  const rest = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };

  const run = (): Promise<void> => {
    // While it still ends with a failure, the timer is already set for the next attempt.
    if (working === null) rest();
    working ??= work().finally(() => {
      working = null;
      // Added after the last group was written. After a failure there is a timer.
      if (queue.length > 0 && failing === null) void run();
    });
    return working;
  };

  const schedule = (delay: number): void => {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      timer = null;
      void run();
    }, delay).unref();
  };

  const isFull = (): boolean => roomless >= AUDIT_LIMITS.queuedEvents;

  const end = async (): Promise<void> => {
    await working;
    await run();
    await (current ?? left)?.file.close();
    current = null;
  };

  return {
    add: (event, written) => {
      if (isClosed || (written === undefined && isFull())) return false;
      // The ids of many lists would take too much memory.
      const held = queue.length < AUDIT_LIMITS.queuedLists ? event : sealEvent(event, 'small');
      queue.push({ event: held, written: written ?? null });
      added += 1;
      if (written === undefined) roomless += 1;
      if (working === null && failing === null) schedule(AUDIT_LIMITS.groupDelay);
      return true;
    },
    isFull,
    sync: () =>
      new Promise<void>((resolve, reject) => {
        if (isClosed) {
          reject(new Error('the audit log is closed'));
          return;
        }
        if (written === added) {
          resolve();
          return;
        }
        waiters = [...waiters, { events: added, resolve, reject }];
        void run();
      }),
    takeBack: (events) => {
      const taken = new Set(queue.map(({ event }) => event).filter((event) => events.has(event)));
      queue = queue.filter(({ event }) => !taken.has(event));
      added -= taken.size;
      roomless -= taken.size;
      return taken;
    },
    head: () => synced,
    failingSince: () => failing,
    close: async () => {
      // A file that the disk still writes is closed by the end of the process.
      const isOver = await endsWithin(end(), patience);
      isClosed = true;
      rest();
      const left = queue.length + unsynced.length;
      const undone = isOver ? 'could not be written and are lost' : 'are not written yet and may be lost';
      if (left > 0) logger.error({ log, events: left }, `events of the audit log ${undone}`);
      return isOver;
    },
  };
}
