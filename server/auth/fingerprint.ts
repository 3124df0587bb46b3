// Fingerprints: a keyed hash of what identifies a credential, never of its spelling (docs/credentials.md
// "Fingerprints"). The key belongs to the installation and is kept in its database, so every process and every restart
// gives the same fingerprints.
import { createHmac, createSecretKey } from 'node:crypto';
import { KEY_LIMITS } from '../limits/credentials.js';
import { makeLruCache } from '../lib/lru-cache.js';
import type { RequestActor } from './request-actor.js';

/** `id` identifies the credential: for a key it is the key's id, for others the parts that name it, as JSON. */
export type Fingerprinter = (kind: RequestActor['kind'], id: string) => string;

/** 64 hex digits. Without the key nobody can tell which credential they belong to. */
export function makeFingerprinter(key: Uint8Array): Fingerprinter {
  const secret = createSecretKey(key);
  const known = makeLruCache<string>(KEY_LIMITS.fingerprintCharacters, KEY_LIMITS.fingerprints);
  return (kind, id) => {
    // No kind contains the separator, so two different pairs never give the same text.
    const text = `${kind}\0${id}`;
    const there = known.get(text);
    if (there !== undefined) return there;
    const made = createHmac('sha256', secret).update(text).digest('hex');
    known.put(text, made, text.length);
    return made;
  };
}
