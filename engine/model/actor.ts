// Who asks: the part that a decision depends on. The gateway's RequestActor adds an id and a fingerprint to this.
import type { Identity } from './identity.js';
import type { NamespacePath } from './namespace.js';
import { ALL_SCOPES, type CarriedScopes } from './vocabulary.js';

/** `local` is the unrestricted single user; every other kind is decided by policy. */
export type ActorKind = 'local' | 'key' | 'token' | 'certificate' | 'anonymous' | 'request';

export interface Actor {
  readonly kind: ActorKind;
  readonly identities: readonly Identity[];
  /** `ALL_SCOPES` for a credential that is not narrowed; the empty set carries nothing. */
  readonly credentialScopes: CarriedScopes;
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
