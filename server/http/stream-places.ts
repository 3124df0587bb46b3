// Places for streams of events. An actor that has all its places, or a process that has given all of its own, is refused
// at once. Those who bring no credential share a number of them, of which an address cannot keep others away.
import { STREAM_LIMITS } from '../limits/changes.js';
import { SHARE_LIMITS } from '../limits/http.js';
import type { Incoming } from './message.js';
import { tooMany } from './rate-limit.js';
import { makeShares } from './shares.js';

export interface Places {
  /** Rejects if there is none. Call the result when the stream is over. */
  readonly enter: (name: string, client: Client) => Promise<() => void>;
}

type Client = Pick<Incoming, 'gone'> & { readonly peer: Pick<Incoming['peer'], 'cut'> };

/** `count` is told of each stream that begins and ends. */
export function makeStreamPlaces(count: (by: 1 | -1) => void): Readonly<Record<'actors' | 'anonymous', Places>> {
  const places = (concurrency: number): Places => makeShares({ concurrency, totalBytes: Infinity, patience: 0 });
  const total = places(STREAM_LIMITS.total);
  const all: Places = { enter: (_, client) => total.enter('', client) };
  const counted: Places = {
    enter: () => {
      count(1);
      return Promise.resolve(() => {
        count(-1);
      });
    },
  };
  return {
    actors: ofEach(places(STREAM_LIMITS.perActor), all, counted),
    anonymous: ofEach(places(STREAM_LIMITS.perActor), all, placesOfStrangers(STREAM_LIMITS.anonymous), counted),
  };
}

/** A place of each kind. */
function ofEach(...kinds: readonly Places[]): Places {
  return {
    enter: async (name, client) => {
      const leaves: (() => void)[] = [];
      const leave = (): void => {
        for (const one of leaves.splice(0)) one();
      };
      try {
        for (const kind of kinds) leaves.push(await kind.enter(name, client));
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
  };
}

/** In full ones, whoever has the most gives its oldest to whoever has fewer even with that one. */
function placesOfStrangers(most: number): Places {
  /** By name, in the order in which they were taken. */
  const held = new Map<string, Set<Client>>();
  let taken = 0;
  const leave = (name: string, client: Client): void => {
    const own = held.get(name);
    if (own?.delete(client) !== true) return;
    taken -= 1;
    if (own.size === 0) held.delete(name);
  };
  const giveWay = (than: number): boolean => {
    const [name, those] = [...held].reduce((a, b) => (b[1].size > a[1].size ? b : a));
    const [oldest] = those;
    if (oldest === undefined || those.size <= than) return false;
    leave(name, oldest);
    oldest.peer.cut('address');
    return true;
  };
  return {
    enter: (name, { gone, peer }) => {
      if (taken >= most && !giveWay((held.get(name)?.size ?? 0) + 1)) {
        return Promise.reject(tooMany({ quota: most }, 'concurrency', SHARE_LIMITS.retryAfter));
      }
      const own = held.get(name) ?? new Set();
      const client = { gone, peer };
      held.set(name, own.add(client));
      taken += 1;
      return Promise.resolve(() => {
        leave(name, client);
      });
    },
  };
}
