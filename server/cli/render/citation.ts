// Grants and roles as reports cite them: the name, where it is declared, and what the policy says about it in quotes. Such a text may hold
// anything, so it is escaped, and its own quotes do not end it.
import type { CitedGrant, CitedRole } from '../../../engine/compiler.js';
import type { GrantRef } from '../../../engine/index.js';
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
export function whyText(text: string | undefined): string {
  return escapeText(rawWhy(text));
}
