// A key as the command line and the admin listener both show it: everything but its secret.
import { formatIdentity, formatInstant, type Instant, scopeNames } from '../../engine/index.js';
import type { ApiKey } from './api-keys.js';
import type { Fingerprinter } from './fingerprint.js';

type KeyStatus = 'active' | 'expired' | 'revoked';

export interface ShownKey {
  readonly id: string;
  readonly actor: string;
  readonly identities: readonly string[];
  readonly scopes: readonly string[] | null;
  readonly restrictions: readonly string[] | null;
  readonly admin: boolean;
  readonly decide: boolean;
  readonly monitor: boolean;
  readonly status: KeyStatus;
  readonly expires: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly createdAt: string;
  /** As in the log and in `whoami`. */
  readonly fingerprint: string;
}

export function showKey(key: ApiKey, now: Instant, fingerprint: Fingerprinter): ShownKey {
  const instant = (at: Instant | null): string | null => (at === null ? null : formatInstant(at));
  return {
    id: key.id,
    actor: key.actor,
    identities: key.identities.map(formatIdentity).sort(),
    scopes: key.scopes === null ? null : scopeNames(key.scopes),
    restrictions: key.restrictions === null ? null : [...key.restrictions].sort(),
    admin: key.admin,
    decide: key.decide === true,
    monitor: key.monitor,
    status: statusOf(key, now),
    expires: instant(key.expires),
    revokedAt: instant(key.revokedAt),
    lastUsedAt: instant(key.lastUsedAt),
    createdAt: formatInstant(key.createdAt),
    fingerprint: fingerprint('key', key.id),
  };
}

function statusOf(key: ApiKey, now: Instant): KeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expires !== null && key.expires <= now) return 'expired';
  return 'active';
}
