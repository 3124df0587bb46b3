// Maps whose values are lists, sets or maps themselves.

/** The value of a key, which is made the first time. */
export function valueIn<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
