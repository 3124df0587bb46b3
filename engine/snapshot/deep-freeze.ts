// Freezes what was parsed, whole: a freezer that stops at the first frozen node leaves what is below it changeable.

/** Freezes a tree of plain objects and arrays in place, also below nodes that are frozen already. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    // Columns are long lists of integers: only what can have something below it is worth a call.
    const items: readonly unknown[] = value;
    for (let i = 0; i < items.length; i += 1) if (typeof items[i] === 'object') deepFreeze(items[i]);
  } else {
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return Object.freeze(value);
}
