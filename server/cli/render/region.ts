// Regions and stretches of time in words.
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

/** At most so many of a list, and how many more there are. */
export function shortList(texts: readonly string[], most: number): string {
  const shown = texts.slice(0, most).join(', ');
  return texts.length > most ? `${shown} and ${groupDigits(texts.length - most)} more` : shown;
}
