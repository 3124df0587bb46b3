// Who administers the gateway. Admins are frozen, made only here, and of a different type than the actor of a query. So
// an admin is never taken for an actor that a policy decides about, or the reverse.
declare const minted: unique symbol;

/** The brand keeps every other file from making one. */
export interface AdminActor {
  /** `admin` has an admin key. `operator` came through the Unix socket, which only the gateway's own user can open. */
  readonly kind: 'admin' | 'operator';
  /** Stable. For a key it is the name given with `--actor`. */
  readonly id: string;
  /** Names the credential in the log without revealing it (fingerprint.ts); null if there is none. */
  readonly credentialFingerprint: string | null;
  readonly [minted]: true;
}

export function adminOfKey(holder: { readonly id: string; readonly credentialFingerprint: string }): AdminActor {
  const { id, credentialFingerprint } = holder;
  return Object.freeze({ kind: 'admin', id, credentialFingerprint }) as AdminActor;
}

export function adminOfSocket(): AdminActor {
  return Object.freeze({ kind: 'operator', id: 'socket', credentialFingerprint: null }) as AdminActor;
}
