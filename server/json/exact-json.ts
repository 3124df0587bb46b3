// Values for which JSON has no form of its own: counts that a double would round, and ends of time that may be open.
import { formatInstant, type Instant } from '../../engine/index.js';

/** A number if JSON readers keep it exact. Beyond 2^53 - 1, its decimal digits as a string. */
export type Exact = number | string;

export function exactJson(number: bigint): Exact {
  return number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : String(number);
}

/** RFC 3339, or null if it is open. */
export function instantJson(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant);
}
