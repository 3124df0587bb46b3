// Turns at a store that runs one statement at a time: each who asks has one statement there, and the next when that has ended. So
// whoever asks for much waits behind what it asked for itself.

/** Runs the work when everything of this name before it is over. */
export type Turns = <T>(name: string, work: () => Promise<T>) => Promise<T>;

export function makeTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const mine = (last.get(name) ?? Promise.resolve()).then(work);
    const over = mine.catch(() => undefined);
    last.set(name, over);
    try {
      return await mine;
    } finally {
      if (last.get(name) === over) last.delete(name);
    }
  };
}
