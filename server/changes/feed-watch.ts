// Keeps the feed going: gives what is pending its place, removes what is not kept any more, and tells those who follow
// when there may be more. Every gateway does so, whoever has written.
import type { Database } from '../db/database.js';
import type { Subscription } from '../db/listen.js';
import { toStoreError } from '../db/failures.js';
import { sql } from '../db/sql.js';
import { CHANGES_LIMITS } from '../limits/changes.js';
import { secondsSince } from '../lib/moment.js';
import type { Logger } from '../lib/ports.js';
import { type NotifiedPoller, makePoller } from '../lib/poller.js';
import {
  feedState,
  type FeedState,
  numberChanges,
  removeChanges,
  removeViews,
  type Retention,
} from './number-changes.js';

export interface FeedWatch {
  /** Gives pending changes their places, as many as one step takes, and returns how many those were. */
  readonly number: () => Promise<number>;
  /** Calls the listener whenever there may be something new. Returns a way to end that. */
  readonly follow: (listener: () => void) => () => void;
  /** Something was written by this process. */
  readonly hear: () => void;
  /** What the last look found; null before the first. */
  readonly state: () => FeedState | null;
  /** Looks for what others have changed from now on, until the result is called. */
  readonly start: (ports: { readonly log: Logger }) => () => Promise<void>;
}

/** The channel on which a gateway says that the feed goes on. */
const CHANNEL = 'bailiwick_changes';

export function watchFeed(db: Database, retention: Retention): FeedWatch {
  const listeners = new Set<() => void>();
  let watch: NotifiedPoller | null = null;
  let listening: Promise<Subscription> | null = null;
  let state: FeedState | null = null;
  let looked = -Infinity;
  let tidied = -Infinity;
  let stale = 0;
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };

  const number = async (): Promise<number> => {
    const numbered = await numberChanges(db, CHANGES_LIMITS.numbered);
    if (numbered === 0) return 0;
    stale += numbered;
    tell();
    await db.rows(sql`SELECT pg_notify(${CHANNEL}::text, ${''}::text)`);
    return numbered;
  };

  const tidy = async (signal: AbortSignal): Promise<void> => {
    if (performance.now() - tidied < CHANGES_LIMITS.removal) return;
    tidied = performance.now();
    let removed: number = CHANGES_LIMITS.removed;
    while (removed === CHANGES_LIMITS.removed && !signal.aborted) {
      removed = await removeChanges(db, retention);
      stale += removed;
    }
    await removeViews(db, retention);
    // The embedded engine has no autovacuum, and would step over every row that there ever was.
    if (db.kind !== 'embedded' || stale < CHANGES_LIMITS.removedBeforeTidying || signal.aborted) return;
    stale = 0;
    await db.vacuum('changes_pending', 'changes');
  };

  /** False if it is not time to look yet. */
  const look = async (isNews: boolean, signal: AbortSignal): Promise<boolean> => {
    const isIdle = listeners.size === 0;
    if (isIdle && !isNews && performance.now() - looked < CHANGES_LIMITS.idleLook) return false;
    looked = performance.now();
    const before = state?.position ?? 0;
    state = await feedState(db);
    if (state.position !== before) tell();
    if (state.isPending) {
      let numbered: number = CHANGES_LIMITS.numbered;
      while (numbered === CHANGES_LIMITS.numbered && !signal.aborted) numbered = await number();
      state = await feedState(db);
    }
    await tidy(signal);
    return true;
  };

  return {
    number,
    follow: (listener) => {
      listeners.add(listener);
      // Announcements of others are listened to from the first follower on.
      listening ??= db.listen(CHANNEL, () => watch?.notify());
      return () => {
        listeners.delete(listener);
      };
    },
    hear: () => {
      if (listeners.size > 0) watch?.notify();
    },
    state: () => state,
    start: ({ log }) => {
      let failing: { readonly since: number; readonly isOurs: boolean } | null = null;
      const own = (watch = makePoller(CHANGES_LIMITS.look, async (why, signal) => {
        try {
          if (!(await look(why !== 'poll', signal))) return;
          if (failing !== null) log.info({ seconds: secondsSince(failing.since) }, 'the feed of changes goes on again');
          failing = null;
        } catch (error) {
          if (signal.aborted) return;
          const failure = toStoreError(error);
          const isOurs = failure === null;
          if (failing?.isOurs !== isOurs) {
            if (failure === null) log.warn({ error }, 'the feed of changes has stopped');
            else log.warn({ code: failure.code, reason: failure.message }, 'the feed of changes waits for the store');
          }
          failing = { since: failing?.since ?? performance.now(), isOurs };
        }
      }));
      return async () => {
        await (await listening)?.close();
        listening = null;
        await own.stop();
      };
    },
  };
}
