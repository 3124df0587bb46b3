// Places for questions that go to somebody else: so many at once in all, and so many for one client address. Who finds
// none waits, for a bounded time. A place that becomes free goes to the address that has the fewest, so an address with
// many questions never keeps others waiting for its own.

export interface PlaceLimits {
  readonly total: number;
  readonly perAddress: number;
  /** The longest wait for a place, in milliseconds. */
  readonly patience: number;
}

interface Places {
  /** Does the work in a place. Null if none became free in time: then nothing was done. */
  readonly hold: <T>(address: string, work: () => Promise<T>) => Promise<{ readonly done: T } | null>;
}

interface Line {
  held: number;
  /** Those who wait, longest first. */
  readonly waiting: Set<() => void>;
}

export function makePlaces({ total, perAddress, patience }: PlaceLimits): Places {
  const lines = new Map<string, Line>();
  let held = 0;

  /** Takes a place, or gets one from those who leave; false if neither happens in time. */
  const enter = (line: Line): Promise<boolean> => {
    // Then nobody waits whom this would overtake: whoever may have a place gets it from the one who leaves.
    if (held < total && line.held < perAddress) {
      held += 1;
      line.held += 1;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const give = (): void => {
        clearTimeout(timer);
        line.waiting.delete(give);
        resolve(true);
      };
      const timer = setTimeout(() => {
        line.waiting.delete(give);
        resolve(false);
      }, patience);
      line.waiting.add(give);
    });
  };
  const leave = (line: Line): void => {
    held -= 1;
    line.held -= 1;
    const [next] = [...lines]
      .filter(([, { held: own, waiting }]) => waiting.size > 0 && own < perAddress)
      .sort(([, one], [, other]) => one.held - other.held);
    if (next === undefined) return;
    const [address, given] = next;
    // The last among its equals from now on.
    lines.delete(address);
    lines.set(address, given);
    held += 1;
    given.held += 1;
    const [give] = given.waiting;
    give?.();
  };
  return {
    hold: async (address, work) => {
      const line = lines.get(address) ?? { held: 0, waiting: new Set() };
      lines.set(address, line);
      try {
        if (!(await enter(line))) return null;
        try {
          return { done: await work() };
        } finally {
          leave(line);
        }
      } finally {
        if (line.held === 0 && line.waiting.size === 0) lines.delete(address);
      }
    },
  };
}
