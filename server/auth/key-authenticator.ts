// API keys as evidence. There are three kinds: for the API, for admins, and for monitoring, which sees a part of what
// admins see. No door accepts another kind. Why a key is refused is only in the operator's log: every reason gives the same answer, after
// the same work.
import type { Instant } from '../../engine/index.js';
import type { Database } from '../db/database.js';
import { storeFailure } from '../db/failures.js';
import { KEY_LIMITS } from '../limits/credentials.js';
import type { Logger } from '../lib/ports.js';
import { makeLruCache } from '../lib/lru-cache.js';
import { adminOfKey, type AdminActor, monitorOfKey, type MonitorActor } from './admin-actor.js';
import { type AnonymousSettings, isAnonymous } from './anonymous.js';
import { noteKeyUse, type StoredKey } from './api-keys.js';
import { type Authenticator, type Credential, notValid } from './authenticator.js';
import type { Fingerprinter } from './fingerprint.js';
import { makeKeyLeases } from './key-leases.js';
import { makeKeyReader } from './key-reader.js';
import { hashSecret, hashMatches, isKeyText, parseKey } from './key-text.js';
import { actorOf, type RequestActor } from './request-actor.js';

export interface KeyAuthenticatorOptions {
  readonly db: Pick<Database, 'vital' | 'rows' | 'listen'>;
  readonly fingerprint: Fingerprinter;
  readonly log: Logger;
  /** Who reads without a credential. Defaults to nobody. */
  readonly anonymous?: AnonymousSettings | null;
}

export interface KeyAuthenticators {
  readonly actors: Authenticator<RequestActor>;
  readonly admins: Authenticator<AdminActor>;
  /** For what admins and monitoring see. */
  readonly watchers: Authenticator<AdminActor | MonitorActor>;
}

export function makeKeyAuthenticators(options: KeyAuthenticatorOptions): KeyAuthenticators {
  const uses = makeUseRecorder(options);
  const readKey = makeKeyReader(options.db);
  /** By key id, the hash of the secret that was right when it was last presented. */
  const proven = makeLruCache<Uint8Array>(Infinity, KEY_LIMITS.proven);
  const leases = makeKeyLeases(options);
  /** Throws unless the store has this key, with this secret, and it is not revoked. */
  const ask = async ({ id, secretHash }: Presented): Promise<StoredKey> => {
    const asked = leases.moment();
    const stored = await readKey(id);
    if (stored === null || stored.revokedAt !== null) leases.forget(id);
    const matches = hashMatches(secretHash, stored?.secretHash ?? null);
    if (stored === null || !matches)
      throw stored === null ? notValid('unknown', 'unknown key') : notValid('wrong', 'wrong secret');
    if (stored.revokedAt !== null) throw notValid('revoked', 'revoked');
    leases.keep(stored, asked);
    return stored;
  };
  /** Monitoring shows that the store is away, so it must not need the store. Throws the error for everybody else. */
  const recall = (error: unknown, { id, secretHash }: Presented, door: Door): StoredKey => {
    const key = door === 'watchers' && storeFailure(error) !== null ? leases.recall(id, secretHash) : null;
    if (key === null || kindOf(key) !== 'monitoring') throw error;
    return key;
  };
  const verify = async (presented: Presented, at: Instant, door: Door): Promise<StoredKey> => {
    const leased = leases.find(presented.id, presented.secretHash);
    // If this fails, so will the request that comes when the lease has ended.
    if (leased?.isAging === true) ask(presented).catch(() => undefined);
    const asked = leased?.key ?? (await ask(presented).catch((error: unknown) => ({ error })));
    const isRecalled = 'error' in asked;
    const stored = isRecalled ? recall(asked.error, presented, door) : asked;
    if (stored.expires !== null && stored.expires <= at) throw notValid('expired', 'expired');
    const kind = kindOf(stored);
    if (!KINDS[door].includes(kind))
      throw notValid('misdirected', `a key for ${kind}, which this listener does not take`);
    if (stored.identities.some((identity) => isAnonymous(identity, options.anonymous ?? null)))
      throw notValid('misdirected', 'a key with the identity of anonymous requests');
    proven.put(stored.id, stored.secretHash, 0);
    if (!isRecalled) uses.note(stored, at);
    return stored;
  };
  const forDoor = <Actor>(door: Door, make: (key: StoredKey, fingerprint: string) => Actor): Authenticator<Actor> => ({
    name: 'keys',
    credentialOf: ({ bearer }) => {
      if (bearer === null || !isKeyText(bearer)) return null;
      const presented = read(bearer);
      if (presented === null) return UNREADABLE;
      const authenticate = async (at: Instant): Promise<Actor> => {
        const key = await verify(presented, at, door);
        return make(key, options.fingerprint('key', key.id));
      };
      const isUnproven = !hashMatches(presented.secretHash, proven.get(presented.id) ?? null);
      return { isUnproven, issuer: null, authenticate };
    },
    issuers: [],
    close: async () => {
      await Promise.all([uses.settled(), leases.close()]);
    },
  });
  return {
    actors: forDoor('actors', ({ actor: id, identities, scopes, restrictions, decide }, credentialFingerprint) =>
      actorOf('key', { id, identities, scopes, restrictions, credentialFingerprint, mayAsk: decide === true }),
    ),
    admins: forDoor('admins', ({ actor: id }, credentialFingerprint) => adminOfKey({ id, credentialFingerprint })),
    watchers: forDoor('watchers', ({ actor: id, admin }, credentialFingerprint) =>
      admin ? adminOfKey({ id, credentialFingerprint }) : monitorOfKey({ id, credentialFingerprint }),
    ),
  };
}

type Door = keyof KeyAuthenticators;
type Kind = 'data' | 'admins' | 'monitoring' | 'no door';

const KINDS: Readonly<Record<Door, readonly Kind[]>> = {
  actors: ['data'],
  admins: ['admins'],
  watchers: ['admins', 'monitoring'],
};

/** No code of ours makes a key of two kinds. Each door refuses one. */
function kindOf({ admin, monitor, identities, scopes, restrictions }: StoredKey): Kind {
  if ((admin || monitor) && (identities.length > 0 || scopes !== null || restrictions !== null)) return 'no door';
  return admin ? 'admins' : monitor ? 'monitoring' : 'data';
}

interface Presented {
  readonly id: string;
  readonly secretHash: Uint8Array;
}

function read(bearer: string): Presented | null {
  const key = parseKey(bearer);
  return key === null ? null : { id: key.id, secretHash: hashSecret(key.secret) };
}

const UNREADABLE: Credential<never> = {
  isUnproven: false,
  issuer: null,
  authenticate: () => Promise.reject(notValid('unreadable', 'not a complete API key')),
};

interface UseRecorder {
  readonly note: (key: StoredKey, at: Instant) => void;
  readonly settled: () => Promise<void>;
}

/** Notes when keys were last used. Requests do not wait for it, and each key is noted at most once a minute. */
function makeUseRecorder({ db, log }: KeyAuthenticatorOptions): UseRecorder {
  const writing = new Map<string, Promise<void>>();
  /** By key id. A key that is remembered does not know its later uses. */
  const noted = makeLruCache<Instant>(Infinity, KEY_LIMITS.proven);
  return {
    note: (key, at) => {
      const last = Math.max(key.lastUsedAt ?? -Infinity, noted.get(key.id) ?? -Infinity);
      if (at - last < KEY_LIMITS.lastUsedInterval || writing.has(key.id)) return;
      // Tried as often where it fails: a store that takes no writes for a while is not asked for one by each request.
      noted.put(key.id, at, 0);
      const written = noteKeyUse(db, key.id, at)
        .catch((error: unknown) => {
          // The log already says that the store is away or takes no writes.
          if (storeFailure(error) === null)
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
