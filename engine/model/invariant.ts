// Bugs of ours, as opposed to mistakes in input: throwing one of these is never an answer to a user.

export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Throws `InvariantError` unless `condition` holds. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

/** Closes a switch over a union: a new member is a compile error here. */
export function assertNever(value: never): never {
  throw new InvariantError(`unexpected variant: ${String(value)}`);
}
