// Regions and stretches of time in words, and numbers that JSON has no room for.
import { type Region, scopePatterns } from '../../../engine/compiler.js';
import { formatInstant, groupDigits, type Instant, type ScopeName, scopeSetOf } from '../../../engine/index.js';

/** Subtrees that are left out of a region beyond these are counted; JSON lists all. */
const SHOWN_EXCEPT = 8;

/** `at and below /labs, without /labs/optics` */
export function regionText({ namespace, extent, except }: Region): string {
  const preposition = extent === 'exact' ? 'at' : extent === 'below' ? 'below' : 'at and below';
  return `${preposition} ${namespace}${except === undefined ? '' : `, without ${shortList(except, SHOWN_EXCEPT)}`}`;
}

/** As the policy language writes them: `*:read`, `resource:*`. */
export function patternsOf(scopes: readonly ScopeName[]): readonly string[] {
  return scopePatterns(scopeSetOf(scopes));
}

export interface Stretch {
  readonly from: Instant | null;
  readonly until: Instant | null;
}

/** `from … until …`; the empty text for all of time. */
export function stretchText({ from, until }: Stretch): string {
  return [from === null ? '' : `from ${formatInstant(from)}`, until === null ? '' : `until ${formatInstant(until)}`]
    .filter((part) => part !== '')
    .join(' ');
}

/** RFC 3339, or null if it is open. */
export function instantJson(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant);
}

/** A number where JSON readers keep it exact, its decimal digits as a text beyond 2^53 - 1. */
export function exactJson(number: bigint): number | string {
  return number <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(number) : String(number);
}

/** At most so many of a list, and how many more there are. */
export function shortList(texts: readonly string[], most: number): string {
  const shown = texts.slice(0, most).join(', ');
  return texts.length > most ? `${shown} and ${groupDigits(texts.length - most)} more` : shown;
}
