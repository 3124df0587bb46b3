// The RequestActor: who a request comes from (docs/credentials.md "The actor"). It is frozen and made only here. Every
// way to authenticate, and to do without, ends in one of the functions of this file.
import {
  type Actor,
  ALL_SCOPES,
  carriedNames,
  formatIdentity,
  type Identity,
  LOCAL_ACTOR,
  type NamespacePath,
  type Policy,
  SCOPES,
  type ScopeSet,
  scopeSetOf,
} from '../../engine/index.js';

declare const minted: unique symbol;

/** Deeply frozen. The brand keeps every other file from making one. */
export interface RequestActor extends Actor {
  readonly kind: CredentialKind | 'local' | 'anonymous';
  /**
   * A stable name. For a key it is the name given with `--actor`, for other credentials their identity. Cursors and
   * idempotency keys belong to it.
   */
  readonly id: string;
  /** Names the credential in the audit log without revealing it (fingerprint.ts); null if there is none. */
  readonly credentialFingerprint: string | null;
  /** Whether it may ask what others may do, within its own scopes and restrictions. */
  readonly mayAsk: boolean;
  readonly [minted]: true;
}

/** An API key; a token of an issuer, signed or opaque; the certificate of the client. */
export type CredentialKind = 'key' | 'token' | 'certificate';

export interface CredentialHolder {
  readonly id: string;
  readonly identities: readonly Identity[];
  /** Null means not narrowed: every scope that the policy knows. The empty list carries no scope. */
  readonly scopes: ScopeSet | null;
  /** Null means unrestricted. The empty list allows nothing. */
  readonly restrictions: readonly NamespacePath[] | null;
  readonly credentialFingerprint: string;
  /** Defaults to no. */
  readonly mayAsk?: boolean;
}

export function actorOf(kind: CredentialKind, holder: CredentialHolder): RequestActor {
  return mint({
    kind,
    id: holder.id,
    identities: Object.freeze(holder.identities.map(({ provider, subject }) => Object.freeze({ provider, subject }))),
    credentialScopes: holder.scopes ?? ALL_SCOPES,
    namespaceRestrictions: holder.restrictions === null ? null : Object.freeze([...holder.restrictions]),
    credentialFingerprint: holder.credentialFingerprint,
    mayAsk: holder.mayAsk === true,
  });
}

/** Whoever brings no credential. It reads records and does nothing else, whatever the policy grants to the identity. */
export function actorWithoutCredential({ provider, subject }: Identity): RequestActor {
  return mint({
    kind: 'anonymous',
    id: formatIdentity({ provider, subject }),
    identities: Object.freeze([Object.freeze({ provider, subject })]),
    credentialScopes: READ_SCOPES,
    namespaceRestrictions: null,
    credentialFingerprint: null,
    mayAsk: false,
  });
}

const READ_SCOPES = scopeSetOf(SCOPES.filter((scope) => scope.endsWith(':read')));

/** The unrestricted single user of local execution. */
export function localActor(credentialFingerprint: string): RequestActor {
  return mint({ ...LOCAL_ACTOR, kind: 'local', id: 'local', credentialFingerprint, mayAsk: false });
}

function mint(fields: Omit<RequestActor, typeof minted>): RequestActor {
  return Object.freeze(fields) as RequestActor;
}

/**
 * Bytes that a remembered actor takes at most, with what its token is bound to: hundreds of thousands, if that names many
 * groups.
 */
export function bytesOf(actor: RequestActor, boundTo: string | null = null): number {
  const { id, identities, credentialScopes: scopes, namespaceRestrictions: paths } = actor;
  const texts = [id, boundTo ?? '', String(scopes), ...identities.map(({ subject }) => subject), ...(paths ?? [])];
  // Two bytes for each character, and the objects around them.
  return texts.reduce((sum, text) => sum + 96 + 2 * text.length, 1_024);
}

/** The actor without secrets, as `whoami` answers it. */
export function describeActor(actor: RequestActor, policy: Pick<Policy, 'scopes'>): Readonly<Record<string, unknown>> {
  return {
    id: actor.id,
    kind: actor.kind,
    identities: actor.identities,
    credentialScopes: carriedNames(actor.credentialScopes, policy),
    namespaceRestrictions: actor.namespaceRestrictions,
    credentialFingerprint: actor.credentialFingerprint,
  };
}
