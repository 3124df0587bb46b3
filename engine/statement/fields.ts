// Parts of parsed JSON whose shape nobody has checked yet.

/** The object's own member, or undefined. */
export function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
