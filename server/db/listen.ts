// Hears what other processes announce by NOTIFY, on a connection that does nothing else. A connection that is lost, or
// cannot be made, is opened again. Announcements in between are not heard, so the handler is called once each time that listening has begun.
import { setTimeout as sleep } from 'node:timers/promises';
import { endsWithin } from '../lib/ends-within.js';
import { POOL_LIMITS } from '../limits/store.js';
import { type ConnectionSource, openClient, type StoreClient } from './connections.js';

/** `payload` is null when something may have been missed: at the beginning, and after a lost connection. */
export type NotificationHandler = (payload: string | null) => void;

interface Listener {
  readonly listen: (channel: string, handler: NotificationHandler) => Promise<Subscription>;
  readonly close: () => Promise<void>;
}

export interface Subscription {
  /** Why the first attempt failed, which is repeated until one succeeds; null if it did not. */
  readonly failure: Error | null;
  readonly close: () => Promise<void>;
}

export function makeListener(source: ConnectionSource): Listener {
  const open = new Set<Subscription>();
  return {
    listen: async (channel, handler) => {
      const subscription = await subscribe(source, channel, handler);
      const close = async (): Promise<void> => {
        open.delete(tracked);
        await subscription.close();
      };
      const tracked = { failure: subscription.failure, close };
      open.add(tracked);
      return tracked;
    },
    close: async () => {
      await Promise.all([...open].map(({ close }) => close()));
    },
  };
}

/** Resolves when the first attempt has ended. */
async function subscribe(
  source: ConnectionSource,
  channel: string,
  handler: NotificationHandler,
): Promise<Subscription> {
  const closing = new AbortController();
  const { signal } = closing;
  const isClosed = (): boolean => signal.aborted;
  let client: StoreClient | null = null;
  const begin = async (): Promise<void> => {
    const next = await listening(source, channel, handler);
    if (isClosed()) {
      await next.end();
      return;
    }
    client = next;
    const pulse = setInterval(() => {
      next.run('select 1').catch(() => undefined);
    }, POOL_LIMITS.listenPulse);
    pulse.unref();
    let isOver = false;
    const over = (): void => {
      clearInterval(pulse);
      if (!isOver) void again();
      isOver = true;
    };
    next.on('end', over);
    next.unref();
    if (next.isLost) over();
    handler(null);
  };
  const again = async (): Promise<void> => {
    client = null;
    // A server without a place for this connection must not be asked for one all the time.
    for (let pause: number = POOL_LIMITS.listenRetry.first; !isClosed(); pause *= 2) {
      await sleep(Math.min(pause, POOL_LIMITS.listenRetry.longest), undefined, { signal, ref: false }).catch(
        () => undefined,
      );
      if (isClosed()) return;
      try {
        await begin();
        return;
      } catch {
        continue; // the store is away
      }
    }
  };
  const failure = await begin().then(
    () => null,
    (error: unknown) => {
      void again();
      return error instanceof Error ? error : new Error('listening failed', { cause: error });
    },
  );
  return {
    failure,
    close: async () => {
      closing.abort();
      // Somebody waits for its end, and nothing else may be left to keep the process alive until then.
      client?.ref();
      // A server that does not answer does not end the connection either.
      if (client !== null && !(await endsWithin(client.end(), POOL_LIMITS.listenEnd))) client.drop();
    },
  };
}

async function listening(
  source: ConnectionSource,
  channel: string,
  handler: NotificationHandler,
): Promise<StoreClient> {
  const client = await source.reach(() => openClient(source));
  client.on('notification', (message: { readonly channel: string; readonly payload?: string }) => {
    if (message.channel === channel) handler(message.payload ?? '');
  });
  try {
    await client.run(`LISTEN "${channel.replaceAll('"', '""')}"`);
    client.throwIfLost();
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
}
