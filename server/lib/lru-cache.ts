// A bounded memory: it keeps the values that were used last, as far as their sizes fit together.

export interface LruCache<Value> {
  /** The value under the name. This counts as a use. */
  readonly get: (name: string) => Value | undefined;
  /** Puts a value under the name, in place of any other. Those that were longest unused make room for it. */
  readonly put: (name: string, value: Value, size: number) => void;
  readonly forget: (name: string) => void;
}

/**
 * Holds values with sizes up to `capacity` in total, and at most `most` of them. A value larger than `capacity` is not
 * kept.
 */
export function makeLruCache<Value>(capacity: number, most = Infinity): LruCache<Value> {
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
      // Moved to the end, so that the map is in the order of the last use.
      kept.delete(name);
      kept.set(name, found);
      return found.value;
    },
    put: (name, value, size) => {
      forget(name);
      if (size > capacity) return;
      kept.set(name, { value, size });
      held += size;
      for (const oldest of kept.keys()) {
        if (held <= capacity && kept.size <= most) break;
        forget(oldest);
      }
    },
    forget,
  };
}
