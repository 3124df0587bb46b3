// Who asks: the part that a decision depends on. The gateway's RequestActor adds an id and a fingerprint to this.
import type { Identity } from './identity.js';
import type { NamespacePath } from './namespace.js';
import { ALL_SCOPES, type ScopeSet } from './scope.js';

/** `local` is the unrestricted single user; every other kind is decided by policy. */
export type ActorKind = 'local' | 'key' | 'token' | 'certificate' | 'anonymous' | 'request';

export interface Actor {
  readonly kind: ActorKind;
  readonly identities: readonly Identity[];
  /** The scopes that the credential carries; the empty set carries nothing. */
  readonly credentialScopes: ScopeSet;
  /** Null means unrestricted. An empty list allows nothing. */
  readonly namespaceRestrictions: readonly NamespacePath[] | null;
}

/** The actor of local execution (docs/meaning.md "Local mode"). */
export const LOCAL_ACTOR: Actor = Object.freeze({
  kind: 'local',
  identities: Object.freeze([]),
  credentialScopes: ALL_SCOPES,
  namespaceRestrictions: null,
});
