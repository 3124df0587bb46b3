// Whoever brings no credential: one identity that reads (docs/authentication.md "Without a credential").
import type { Identity } from '../../engine/index.js';

export interface AnonymousSettings {
  readonly identity: Identity;
}

/** Whether it is the identity of those without a credential. No key may have it: with a key one may do more than read. */
export function isAnonymous({ provider, subject }: Identity, settings: AnonymousSettings | null): boolean {
  return settings !== null && settings.identity.provider === provider && settings.identity.subject === subject;
}
