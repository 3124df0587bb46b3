// Reads parts of parsed JSON of unchecked shape.

/** The object's own property, or undefined. */
export function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
