// From the `Authorization` header to a RequestActor (design 8), or one of two refusals. Why a credential is refused is told to
// the operator's log alone: every reason gives the same answer, after the same work.
import type { Instant } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { HTTP_LIMITS, KEY_LIMITS } from '../limits.js';
import type { Logger } from '../ports.js';
import { ApiProblem } from '../problem.js';
import { noteKeyUse, type StoredKey } from './api-keys.js';
import type { Fingerprinter } from './fingerprint.js';
import { makeKeyReader } from './key-reader.js';
import { parseKey, secretMatches } from './key-text.js';
import { actorOfKey, localActor, type RequestActor } from './request-actor.js';

/** Makes the actor of one request from its `Authorization` value, or throws `auth.required` or `auth.invalid`. */
export interface Authenticator {
  readonly authenticate: (authorization: string | undefined, at: Instant) => Promise<RequestActor>;
  /** Waits for what is still being noted about keys. */
  readonly close: () => Promise<void>;
}

export interface KeyAuthenticatorOptions {
  readonly db: Database;
  readonly fingerprint: Fingerprinter;
  readonly log: Logger;
}

export function makeKeyAuthenticator(options: KeyAuthenticatorOptions): Authenticator {
  const uses = makeUseRecorder(options);
  const readKey = makeKeyReader(options.db);
  return {
    authenticate: async (authorization, at) => {
      if (authorization === undefined) throw new ApiProblem('auth.required');
      const presented = parseKey(bearerToken(authorization));
      if (presented === null) throw refused('no key of ours');
      const stored = await readKey(presented.id);
      const matches = secretMatches(presented.secret, stored?.secretHash ?? null);
      if (stored === null || !matches) throw refused(stored === null ? 'unknown key' : 'wrong secret');
      if (stored.revokedAt !== null) throw refused('revoked');
      if (stored.expires !== null && stored.expires <= at) throw refused('expired');
      uses.note(stored, at);
      return actorOfKey({ ...stored, id: stored.actor, credentialFingerprint: options.fingerprint('key', stored.id) });
    },
    close: uses.settled,
  };
}

/** Local execution: one actor, whatever the request carries (design 2.3). */
export function makeLocalAuthenticator(fingerprint: Fingerprinter): Authenticator {
  const actor = localActor(fingerprint('local', 'local'));
  return { authenticate: () => Promise.resolve(actor), close: () => Promise.resolve() };
}

/** The token of `Bearer <token>`, or a text that no key can be. The scheme's name is case-insensitive (RFC 9110). */
function bearerToken(authorization: string): string {
  if (authorization.length > HTTP_LIMITS.credentialCharacters) return '';
  const cut = authorization.indexOf(' ');
  return cut > 0 && authorization.slice(0, cut).toLowerCase() === 'bearer' ? authorization.slice(cut + 1) : '';
}

function refused(reason: string): ApiProblem {
  return new ApiProblem('auth.invalid', { reason });
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
