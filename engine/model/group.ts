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
