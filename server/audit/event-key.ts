// A key as the event of its making and of its end holds it: all but its secret (docs/audit.md "An event").
import { compareTexts, formatIdentity, formatInstant, type ScopeName, scopeNames } from '../../engine/index.js';
import type { NewKey } from '../auth/api-keys.js';
import { maskCredentials } from '../lib/mask.js';

/** Members in the order of RFC 8785. Null means that the key is not narrowed, or does not expire. */
export interface EventCredential {
  readonly actor: string;
  readonly admin: boolean;
  readonly decide: boolean;
  readonly expires: string | null;
  readonly identities: readonly string[];
  readonly namespaceRestrictions: readonly string[] | null;
  readonly scopes: readonly ScopeName[] | null;
}

export function eventCredential(key: NewKey): EventCredential {
  return {
    actor: maskCredentials(key.actor),
    admin: key.admin,
    decide: key.decide === true,
    expires: key.expires === null ? null : formatInstant(key.expires),
    identities: key.identities.map((identity) => maskCredentials(formatIdentity(identity))).sort(compareTexts),
    namespaceRestrictions: key.restrictions === null ? null : [...key.restrictions].sort(),
    scopes: key.scopes === null ? null : scopeNames(key.scopes),
  };
}
