// Turns: how much of the store one caller may have at once. Its further work waits for its own, and nobody else's does.

export interface Turns {
  /** Waits until the name has less than its share, and takes a place. Returns what gives the place back. */
  readonly enter: (name: string) => Promise<() => void>;
}

/** `most` places for each name. They are given in the order in which they were asked for. */
export function makeTurns(most: number): Turns {
  const lines = new Map<string, { taken: number; readonly waiting: (() => void)[] }>();
  return {
    enter: async (name) => {
      const line = lines.get(name) ?? { taken: 0, waiting: [] };
      lines.set(name, line);
      if (line.taken < most) line.taken += 1;
      else await new Promise<void>((resolve) => line.waiting.push(resolve));
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        const next = line.waiting.shift();
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
