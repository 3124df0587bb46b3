// A key as the command line and the admin listener both show it: everything but its secret.
import { compareTexts, formatIdentity, formatInstant, type Instant, scopeNames } from '../../engine/index.js';
import type { ShownKey } from '../api/admin-schemas.js';
import type { ApiKey } from './api-keys.js';
import type { Fingerprinter } from './fingerprint.js';

export function showKey(key: ApiKey, now: Instant, fingerprint: Fingerprinter): ShownKey {
  const instant = (at: Instant | null): string | null => (at === null ? null : formatInstant(at));
  return {
    id: key.id,
    actor: key.actor,
    identities: key.identities.map(formatIdentity).sort(compareTexts),
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

function statusOf(key: ApiKey, now: Instant): ShownKey['status'] {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expires !== null && key.expires <= now) return 'expired';
  return 'active';
}
