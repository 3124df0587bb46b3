// Who administers the gateway, and who only watches it. Both are frozen, made only here, and of a different type than the
// actor of a query. So an admin is never taken for an actor that a policy decides about, or the reverse.
declare const minted: unique symbol;
declare const watches: unique symbol;

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

/** Sees status and metrics. Every admin may do that, too. */
export interface MonitorActor {
  readonly kind: 'monitor';
  readonly id: string;
  readonly credentialFingerprint: string;
  readonly [watches]: true;
}

interface Holder {
  readonly id: string;
  readonly credentialFingerprint: string;
}

export function monitorOfKey({ id, credentialFingerprint }: Holder): MonitorActor {
  return Object.freeze({ kind: 'monitor', id, credentialFingerprint }) as MonitorActor;
}

export function adminOfKey({ id, credentialFingerprint }: Holder): AdminActor {
  return Object.freeze({ kind: 'admin', id, credentialFingerprint }) as AdminActor;
}

export function adminOfSocket(): AdminActor {
  return Object.freeze({ kind: 'operator', id: 'socket', credentialFingerprint: null }) as AdminActor;
}
