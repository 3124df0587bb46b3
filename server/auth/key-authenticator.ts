// API keys as evidence, of two kinds: one for the API, one for the admin listener, and neither is accepted by the
// other. Only the operator's log has the reason why a key is refused: every reason gives the same answer, after the
// same work.
import { timingSafeEqual } from 'node:crypto';
import type { Instant } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import type { Logger } from '../ports.js';
import { makeRecent } from '../recent.js';
import { adminOfKey, type AdminActor } from './admin-actor.js';
import { isOfBothKinds, noteKeyUse, type StoredKey } from './api-keys.js';
import { type Authenticator, type Evidence, notValid } from './authenticator.js';
import type { Fingerprinter } from './fingerprint.js';
import { makeKeyReader } from './key-reader.js';
import { hashSecret, isKeyText, parseKey, secretMatches } from './key-text.js';
import { actorOf, type RequestActor } from './request-actor.js';

export interface KeyAuthenticatorOptions {
  readonly db: Database;
  readonly fingerprint: Fingerprinter;
  readonly log: Logger;
}

export interface KeyAuthenticators {
  readonly actors: Authenticator<RequestActor>;
  readonly admins: Authenticator<AdminActor>;
}

export function makeKeyAuthenticators(options: KeyAuthenticatorOptions): KeyAuthenticators {
  const uses = makeUseRecorder(options);
  const readKey = makeKeyReader(options.db);
  /** By key id the hash of the secret that was right when it was last presented. */
  const proven = makeRecent<Uint8Array>(Infinity, KEY_LIMITS.proven);
  const claims = ({ bearer }: Evidence): boolean => bearer !== null && isKeyText(bearer);
  const isUnproven = ({ bearer }: Evidence): boolean => {
    const presented = bearer === null ? null : parseKey(bearer);
    if (presented === null) return false;
    const known = proven.get(presented.id);
    return known === undefined || !timingSafeEqual(hashSecret(presented.secret), known);
  };
  const verify = async ({ bearer }: Evidence, at: Instant, door: 'actor' | 'admin'): Promise<StoredKey> => {
    const presented = bearer === null ? null : parseKey(bearer);
    if (presented === null) throw notValid('unreadable', 'no key of ours');
    const stored = await readKey(presented.id);
    const matches = secretMatches(presented.secret, stored?.secretHash ?? null);
    if (stored === null || !matches)
      throw stored === null ? notValid('unknown', 'unknown key') : notValid('wrong', 'wrong secret');
    if (stored.revokedAt !== null) throw notValid('revoked', 'revoked');
    if (stored.expires !== null && stored.expires <= at) throw notValid('expired', 'expired');
    if (isOfBothKinds(stored)) throw notValid('unusable', 'a key for data and for admins');
    if (stored.admin !== (door === 'admin'))
      throw notValid('misdirected', stored.admin ? 'an admin key' : 'not an admin key');
    proven.put(stored.id, stored.secretHash, 0);
    uses.note(stored, at);
    return stored;
  };
  const fingerprintOf = ({ id }: StoredKey): string => options.fingerprint('key', id);
  const common = { name: 'keys', claims, isUnproven, issuers: [], close: uses.settled };
  return {
    actors: {
      ...common,
      authenticate: async (evidence, at) => {
        const key = await verify(evidence, at, 'actor');
        return actorOf('key', { ...key, id: key.actor, credentialFingerprint: fingerprintOf(key) });
      },
    },
    admins: {
      ...common,
      authenticate: async (evidence, at) => {
        const key = await verify(evidence, at, 'admin');
        return adminOfKey({ id: key.actor, credentialFingerprint: fingerprintOf(key) });
      },
    },
  };
}

interface UseRecorder {
  readonly note: (key: StoredKey, at: Instant) => void;
  readonly settled: () => Promise<void>;
}

/** Notes when keys were last used, beside the request and at most once a minute for each. */
function makeUseRecorder({ db, log }: KeyAuthenticatorOptions): UseRecorder {
  const writing = new Map<string, Promise<void>>();
  return {
    note: (key, at) => {
      const due = key.lastUsedAt === null || at - key.lastUsedAt >= KEY_LIMITS.lastUsedInterval;
      if (!due || writing.has(key.id)) return;
      const written = noteKeyUse(db, key.id, at)
        .catch((error: unknown) => {
          log.warn({ keyId: key.id, error }, 'the last use of a key could not be noted');
        })
        .finally(() => writing.delete(key.id));
      writing.set(key.id, written);
    },
    settled: async () => {
      await Promise.all(writing.values());
    },
  };
}
