// What one actor may use of the gateway at once: a number of requests at work, and a number of bytes of answers that
// its clients have yet to read. An actor beyond that waits for its own requests, never for those of others. All actors
// together are bounded as well, and so are strangers: of each, those who read most slowly lose their connections. Admins
// are few, and are refused.
import { SHARE_LIMITS } from '../limits/http.js';
import { ApiProblem } from '../problem.js';
import { type Peer, RequestAborted } from './message.js';
import { tooMany } from './rate-limit.js';

export interface Shares {
  /**
   * Waits until one more request of this name may be worked on. Call the result once, when the work is over. Rejects
   * with `limit.rate` after some time, with `overloaded` if all actors together have too much, and with
   * `RequestAborted` once the client is gone.
   */
  readonly enter: (name: string, client: { readonly gone: AbortSignal }) => Promise<() => void>;
  /** Throws `limit.rate` or `overloaded` if there is no room for an answer of this size. */
  readonly checkRoom: (name: string, bytes: number) => void;
  /**
   * Counts bytes of an answer that is still to be read. Call the result once, when the client has read it or never
   * will.
   */
  readonly hold: (name: string, bytes: number) => () => void;
}

interface Share {
  working: number;
  unread: number;
  /** The waiting requests in order of arrival. Each callback lets one go on. */
  readonly waiting: Set<() => void>;
}

export interface ShareOptions {
  /** Requests at work at once; 0 means no limit. */
  readonly concurrency: number;
  /** Unread bytes of all together. */
  readonly totalBytes: number;
  /** How many milliseconds a request waits at most. */
  readonly patience?: number;
}

export function makeShares({ concurrency, totalBytes, patience = SHARE_LIMITS.patience }: ShareOptions): Shares {
  const shares = new Map<string, Share>();
  let total = 0;

  const shareOf = (name: string): Share => {
    let share = shares.get(name);
    if (share === undefined) shares.set(name, (share = { working: 0, unread: 0, waiting: new Set() }));
    return share;
  };
  const isFull = ({ working, unread }: Share): boolean =>
    (concurrency > 0 && working >= concurrency) || unread >= SHARE_LIMITS.unreadBytes;
  const refusal = ({ unread }: Share): ApiProblem =>
    unread >= SHARE_LIMITS.unreadBytes
      ? tooMany({ quota: SHARE_LIMITS.unreadBytes }, 'unread-bytes', SHARE_LIMITS.retryAfter)
      : tooMany({ quota: concurrency }, 'concurrency', SHARE_LIMITS.retryAfter);
  const goOn = (name: string, share: Share): void => {
    for (const admit of share.waiting) {
      if (isFull(share)) return;
      admit();
    }
    if (share.working === 0 && share.unread === 0) shares.delete(name);
  };
  const begin = (name: string, share: Share): (() => void) => {
    share.working += 1;
    return () => {
      share.working -= 1;
      goOn(name, share);
    };
  };

  return {
    enter: async (name, client) => {
      if (total >= totalBytes) throw overloaded();
      const share = shareOf(name);
      if (!isFull(share)) return begin(name, share);
      if (share.waiting.size >= SHARE_LIMITS.waiting) throw refusal(share);
      return new Promise((resolve, reject) => {
        const { gone } = client;
        const settle = (finish: () => void): void => {
          clearTimeout(timer);
          gone.removeEventListener('abort', leave);
          share.waiting.delete(admit);
          finish();
        };
        const admit = (): void => {
          settle(() => {
            resolve(begin(name, share));
          });
        };
        const leave = (): void => {
          settle(() => {
            reject(new RequestAborted());
          });
        };
        const timer = setTimeout(() => {
          settle(() => {
            reject(refusal(share));
          });
        }, patience);
        share.waiting.add(admit);
        gone.addEventListener('abort', leave);
        if (gone.aborted) leave();
      });
    },
    checkRoom: (name, bytes) => {
      // Work that began while there was room may exceed the limit, up to twice its size.
      const unread = (shares.get(name)?.unread ?? 0) + bytes;
      if (unread > 2 * SHARE_LIMITS.unreadBytes) {
        throw tooMany({ quota: SHARE_LIMITS.unreadBytes }, 'unread-bytes', SHARE_LIMITS.retryAfter);
      }
      if (total + bytes > 2 * totalBytes) throw overloaded();
    },
    hold: (name, bytes) => {
      const share = shareOf(name);
      share.unread += bytes;
      total += bytes;
      return () => {
        share.unread -= bytes;
        total -= bytes;
        goOn(name, share);
      };
    },
  };
}

function overloaded(): ApiProblem {
  return new ApiProblem('overloaded', {
    retryAfter: SHARE_LIMITS.retryAfter,
    reason: 'too many answers wait to be read',
  });
}

/** Answers to many who must not keep each other waiting. */
export interface Readers {
  /** Counts bytes of an answer. Call the result once, when the client has read it or never will. */
  readonly hold: (client: Pick<Peer, 'pace' | 'cut'>, bytes: number) => () => void;
}

export function makeReaders(totalBytes: number = SHARE_LIMITS.strangersUnreadBytes): Readers {
  interface Unread {
    readonly client: Pick<Peer, 'pace' | 'cut'>;
    readonly bytes: number;
  }
  const unread = new Set<Unread>();
  let total = 0;
  const give = (one: Unread): void => {
    if (unread.delete(one)) total -= one.bytes;
  };
  return {
    hold: (client, bytes) => {
      const own = { client, bytes };
      unread.add(own);
      total += bytes;
      while (total > totalBytes && unread.size > 1) {
        const slowest = [...unread].filter((one) => one !== own).reduce(slower);
        give(slowest);
        slowest.client.cut('slow');
      }
      return () => {
        give(own);
      };
    },
  };
}

function slower<T extends { readonly client: Pick<Peer, 'pace'> }>(a: T, b: T): T {
  return b.client.pace() < a.client.pace() ? b : a;
}

/** Bodies of many who must not fill the memory. */
export interface Bodies {
  /** Counts what comes of one body, until `end`. */
  readonly open: (client: Pick<Peer, 'cut'>) => { readonly add: (bytes: number) => void; readonly end: () => void };
}

/** If all together are too large, the largest give way, so that small ones pass whatever others send. */
export function makeBodies(most: number): Bodies {
  interface Body {
    readonly client: Pick<Peer, 'cut'>;
    bytes: number;
  }
  const bodies = new Set<Body>();
  let total = 0;
  const end = (body: Body): void => {
    if (bodies.delete(body)) total -= body.bytes;
  };
  return {
    open: (client) => {
      const own = { client, bytes: 0 };
      bodies.add(own);
      return {
        add: (bytes) => {
          if (!bodies.has(own)) return;
          own.bytes += bytes;
          total += bytes;
          while (total > most) {
            const largest = [...bodies].reduce((a, b) => (b.bytes > a.bytes ? b : a));
            end(largest);
            largest.client.cut('pipelined');
          }
        },
        end: () => {
          end(own);
        },
      };
    },
  };
}
