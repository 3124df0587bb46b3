// Lists by key, and answers that are kept. Without these, every place that collects or caches would repeat the same
// five lines around a map.

/** Keys are in the order in which they first occur, and things in their own order. */
export function groupBy<T, K>(things: Iterable<T>, keyOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) addTo(groups, keyOf(thing), thing);
  return groups;
}

export function addTo<T, K>(groups: Map<K, T[]>, key: K, thing: T): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [thing]);
  else group.push(thing);
}

/** What the other list does not have. */
export function without<T>(list: Iterable<T>, other: Iterable<T>): T[] {
  const left = new Set(other);
  return Array.from(list).filter((one) => !left.has(one));
}

/**
 * The function with a memory of what it last made of each first object, for objects that never change. Versions of a policy have those
 * columns in common that say the same, so what is made of these is made once. It is kept as long as the first object is.
 */
export function rememberLast<Keys extends readonly [object, ...unknown[]], V>(
  make: (...keys: Keys) => V,
): (...keys: Keys) => V {
  const known = new WeakMap<object, { readonly keys: Keys; readonly made: V }>();
  return (...keys) => {
    const last = known.get(keys[0]);
    if (last?.keys.every((key, i) => key === keys[i]) === true) return last.made;
    const made = make(...keys);
    known.set(keys[0], { keys, made });
    return made;
  };
}

/** Returns the function with a memory: for the same key it gives the same object. */
export function remember<K, V extends object | number | null>(answer: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = answer(key);
    known.set(key, made);
    return made;
  };
}
