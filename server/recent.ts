// A memory with a bound: of what it was given it keeps what was used last, as far as sizes together allow.

export interface Recent<Value> {
  /** What was put under the name, which is used by that. */
  readonly get: (name: string) => Value | undefined;
  /** In place of what the name had; gives the names that were forgotten for it, longest unused first. */
  readonly put: (name: string, value: Value, size: number) => readonly string[];
}

/** Holds `capacity` of sizes, and `most` values; what is larger than all of it is not kept. */
export function makeRecent<Value>(capacity: number, most = Infinity): Recent<Value> {
  const kept = new Map<string, { readonly value: Value; readonly size: number }>();
  let held = 0;
  const forget = (name: string): void => {
    held -= kept.get(name)?.size ?? 0;
    kept.delete(name);
  };
  return {
    get: (name) => {
      const found = kept.get(name);
      if (found === undefined) return undefined;
      // Put last, so that the map's order is that of the last use.
      kept.delete(name);
      kept.set(name, found);
      return found.value;
    },
    put: (name, value, size) => {
      forget(name);
      if (size > capacity) return [];
      kept.set(name, { value, size });
      held += size;
      const forgotten: string[] = [];
      for (const oldest of kept.keys()) {
        if (held <= capacity && kept.size <= most) break;
        forgotten.push(oldest);
        forget(oldest);
      }
      return forgotten;
    },
  };
}
