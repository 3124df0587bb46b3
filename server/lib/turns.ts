// Turns: how much of the store one caller may have at once. Its further work waits for its own, and nobody else's does.
import { makeLruCache } from './lru-cache.js';

export interface Turns {
  /**
   * Waits until the name has less than its share, and takes a place. Returns what gives the place back. Rejects with the
   * reason of `gone` once that is aborted.
   */
  readonly enter: (name: string, gone?: AbortSignal) => Promise<() => void>;
}

/** `most` places for each name. They are given in the order in which they were asked for. */
export function makeTurns(most: number): Turns {
  const lines = new Map<string, { taken: number; readonly waiting: Set<() => void> }>();
  return {
    enter: async (name, gone) => {
      gone?.throwIfAborted();
      const line = lines.get(name) ?? { taken: 0, waiting: new Set() };
      lines.set(name, line);
      if (line.taken < most) line.taken += 1;
      else await placeIn(line.waiting, gone);
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        const [next] = line.waiting;
        if (next !== undefined) {
          next();
          return;
        }
        line.taken -= 1;
        if (line.taken === 0) lines.delete(name);
      };
    },
  };
}

/** Resolves when the place is given, which is then no longer in the line. */
function placeIn(waiting: Set<() => void>, gone: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const admit = (): void => {
      waiting.delete(admit);
      gone?.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      waiting.delete(admit);
      reject(gone?.reason instanceof Error ? gone.reason : new Error('aborted', { cause: gone?.reason }));
    };
    waiting.add(admit);
    gone?.addEventListener('abort', leave, { once: true });
  });
}

/** `most` places for all names together, of which each has one at most. */
export function makeEachItsTurn(most: number): Turns {
  const [own, all] = [makeTurns(1), makeTurns(most)];
  return {
    enter: async (name, gone) => {
      const leaveOwn = await own.enter(name, gone);
      try {
        const leave = await all.enter('', gone);
        return () => {
          leave();
          leaveOwn();
        };
      } catch (error) {
        leaveOwn();
        throw error;
      }
    },
  };
}

/** How many names are remembered whose work was brief. */
const REMEMBERED = 10_000;

/** After long work a name has one place for so many times as long as that took. */
const ALONE = 10;

/**
 * One place for each name, and a second one as long as its work takes at most `brief` milliseconds each. So the store has
 * the next piece of brief work when it has done one, and long work is done one by one: whoever had two long pieces done at
 * once has one place for a while, whatever brief work comes between.
 */
export function makeBriefTurns(brief: number): Turns {
  const [places, alone] = [makeTurns(2), makeTurns(1)];
  const pairedFrom = makeLruCache<number>(REMEMBERED);
  return {
    enter: async (name) => {
      const leave = await places.enter(name);
      const isPaired = (pairedFrom.get(name) ?? Infinity) <= performance.now();
      const leaveAlone = isPaired ? null : await alone.enter(name);
      const begun = performance.now();
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        const now = performance.now();
        if (now - begun > brief) pairedFrom.put(name, now + ALONE * (now - begun), 1);
        else if (pairedFrom.get(name) === undefined) pairedFrom.put(name, now, 1);
        leaveAlone?.();
        leave();
      };
    },
  };
}
