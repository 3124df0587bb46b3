// How reports say it: a grant or a role, with the place where it is declared and what the policy says about it in quotes,
// which may hold anything and so is escaped; a region of the tree; a stretch of time.
import { type CitedGrant, type CitedRole, type Region, scopePatterns } from '../../../engine/compiler.js';
import {
  formatInstant,
  type GrantRef,
  groupDigits,
  type Instant,
  type ScopeName,
  scopeSetOf,
} from '../../../engine/index.js';
import { placeText as rawPlace, whyText as rawWhy } from '../../authoring/causes.js';
import { escapeText } from './escape.js';

/** `id (file:line)` */
export function grantText(grant: GrantRef): string {
  return `${escapeText(grant.id)}${placeText(grant)}`;
}

/** `id (file:line): "reason"` */
export function citedText(grant: CitedGrant): string {
  return `${grantText(grant)}${whyText(grant.reason)}`;
}

/** `role (file:line): "description"` */
export function roleText({ role, description, ...place }: CitedRole & Omit<GrantRef, 'id'>): string {
  return `${grantText({ id: role, ...place })}${whyText(description)}`;
}

/** ` (file:line)`; nothing for a policy that was built in memory. */
export function placeText(place: Omit<GrantRef, 'id'>): string {
  return escapeText(rawPlace(place));
}

/** `: "text"`; nothing where the policy gives none. */
function whyText(text: string | undefined): string {
  return escapeText(rawWhy(text));
}

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
