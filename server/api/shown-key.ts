// A key as the command line, the admin listener and the console show it: everything but its secret.
export interface ShownKey {
  readonly id: string;
  readonly actor: string;
  readonly identities: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly restrictions: readonly string[] | null;
  readonly admin: boolean;
  readonly decide: boolean;
  readonly monitor: boolean;
  readonly status: 'active' | 'expired' | 'revoked';
  readonly expires: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
  /** As in the log and in `whoami`. */
  readonly fingerprint: string;
}
