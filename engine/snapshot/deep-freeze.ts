// Freezes a parsed value completely. A function that stopped at the first frozen node would leave everything below it mutable.

/** Freezes a tree of plain objects and arrays in place, including what is below nodes that are already frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    // Columns are long lists of integers, so only objects are worth a call.
    const items: readonly unknown[] = value;
    for (let i = 0; i < items.length; i += 1) if (typeof items[i] === 'object') deepFreeze(items[i]);
  } else {
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return Object.freeze(value);
}
