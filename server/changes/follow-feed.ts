// One stream of the feed, as server-sent events. It reads when somebody says that there may be more, and otherwise only
// to show that it lives. Who reads, under which policy and at what time is looked at again before each read and every
// second, so a credential that ends, a policy that is replaced and an hour that comes are seen at once.
import type { Instant } from '../../engine/index.js';
import { STREAM_LIMITS } from '../limits/changes.js';
import type { ChangeItem, Feed, FeedPage } from './feed.js';
import type { CursorOwner } from './cursor.js';
import { type FeedView, partOf } from './view.js';

/** Who reads at a moment, and what they may see. */
interface Look<Moment> {
  readonly at: Instant;
  readonly view: FeedView;
  readonly moment: Moment;
}

export interface Following<Moment> {
  /** What was read before the stream began. */
  readonly first: { readonly view: FeedView; readonly changes: FeedPage };
  readonly owner: CursorOwner;
  readonly limit: number;
  /** Aborted once the client is gone. */
  readonly signal: AbortSignal;
  readonly sink: { readonly send: (text: string) => Promise<void> };
  /** Throws whatever ends the stream. */
  readonly look: () => Promise<Look<Moment>>;
  /** Waits for one of the places of streams that read. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Records what was shown. */
  readonly shown: (look: Pick<Look<Moment>, 'view'> & Partial<Look<Moment>>, changes: FeedPage) => void;
  /** Null if there is nobody to tell. */
  readonly problemOf: (error: unknown) => StreamProblem | null;
}

/** What ends a stream. */
export interface StreamProblem {
  /** A problem as JSON. */
  readonly text: string;
  /** In how many seconds the client should come back; null if it does not matter. */
  readonly retryAfter: number | null;
}

/** Ends when the client does, and with an event that says why whenever it ends by itself. Never rejects. */
export async function followFeed<Moment>(feed: Feed, following: Following<Moment>): Promise<void> {
  const { sink, problemOf } = following;
  try {
    await sink.send(`retry: ${String(STREAM_LIMITS.retry)}\n\n`);
    await follow(feed, following);
  } catch (error) {
    const problem = problemOf(error);
    if (problem === null) return;
    const { text, retryAfter } = problem;
    const retry = retryAfter === null ? '' : `retry: ${String(retryAfter * 1_000)}\n`;
    await sink.send(`${retry}event: problem\ndata: ${text}\n\n`).catch(() => undefined);
  }
}

async function follow<Moment>(feed: Feed, following: Following<Moment>): Promise<void> {
  const { first, owner, limit, signal, sink, look, inTurn, shown } = following;
  const bell = makeBell(signal);
  const unfollow = feed.follow(bell.ring);
  try {
    shown({ view: first.view }, first.changes);
    await sink.send(eventsOf(first.changes));
    let { digest } = first.view;
    let after = first.changes.next;
    let sentAt = performance.now();
    let isMore = true;
    for (;;) {
      if (!isMore) await bell.wait(STREAM_LIMITS.check);
      signal.throwIfAborted();
      const { view } = await look();
      const isDue = performance.now() - sentAt >= STREAM_LIMITS.heartbeat;
      if (!bell.take() && !isMore && !isDue && view.digest === digest) continue;
      const { now, changes } = await inTurn(async () => {
        // It may have waited long for this.
        const current = await look();
        const { at } = current;
        return { now: current, changes: await feed.read({ view: current.view, at, owner, after, limit, signal }) };
      });
      ({ digest } = now.view);
      after = changes.next;
      isMore = changes.isFull;
      shown(now, changes);
      if (changes.items.length > 0 || isDue) {
        await sink.send(eventsOf(changes));
        sentAt = performance.now();
      }
      // The reader has just got the item that it lost everything.
      if (partOf(now.view, owner).size === 0) return;
    }
  } finally {
    unfollow();
  }
}

/** Ends with the place after all items, which a client that comes back names even if it has seen no item for long. */
function eventsOf({ items, next }: FeedPage): string {
  return `${items.map(eventOf).join('')}:\nid: ${next}\n\n`;
}

function eventOf(item: ChangeItem): string {
  return `id: ${item.cursor}\ndata: ${JSON.stringify(item)}\n\n`;
}

interface Bell {
  readonly ring: () => void;
  /** Waits until it rings, but not for longer than that, and never for less than a moment. */
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Whether it has rung since the last call. */
  readonly take: () => boolean;
}

function makeBell(signal: AbortSignal): Bell {
  let hasRung = true;
  let wake: (() => void) | null = null;
  return {
    ring: () => {
      hasRung = true;
      wake?.();
    },
    wait: async (milliseconds) => {
      await pause(STREAM_LIMITS.distance);
      if (hasRung || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          wake = null;
          resolve();
        };
        const timer = setTimeout(end, milliseconds).unref();
        signal.addEventListener('abort', end, { once: true });
        wake = end;
      });
    },
    take: () => {
      const rung = hasRung;
      hasRung = false;
      return rung;
    },
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
