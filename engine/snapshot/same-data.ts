// Whether two plain values (objects, lists and typed columns of texts and numbers) are the same throughout.

export function isSameData(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b);
  if (isColumn(a) && isColumn(b)) return isSameColumn(a, b);
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length || isColumn(a) || isColumn(b)) return false;
  return keys.every((key) => isSameData(fieldOf(a, key), fieldOf(b, key)));
}

function isColumn(value: object): value is ArrayLike<unknown> & object {
  return Array.isArray(value) || ArrayBuffer.isView(value);
}

function isSameColumn(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  for (let i = 0; i < a.length; i += 1) if (!isSameData(a[i], b[i])) return false;
  return true;
}

function fieldOf(value: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}
