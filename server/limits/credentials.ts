// Limits of keys, tokens and certificates.

export const KEY_LIMITS = Object.freeze({
  identities: 32,
  scopes: 100,
  restrictions: 1_000,
  /**
   * Bytes of identities and restrictions together, also of a token: each event of the audit log repeats them. Keys from
   * before this limit may have more.
   */
  carriedBytes: 128 * 1024,
  /** How often `last_used_at` of one key is written at most, in milliseconds. */
  lastUsedInterval: 60_000,
  /** Keys remembered as good when last presented; the one longest unused is forgotten first. */
  proven: 10_000,
  /**
   * How long a key is believed after the store was asked for it, and how much longer a revocation waits before it is
   * answered. All processes that share a store must agree on them. Milliseconds.
   */
  lease: 1_000,
  leaseMargin: 50,
  /**
   * How long a key for monitoring is believed while the store cannot be asked, from when it last was. Long enough that
   * whoever is on call sees what is wrong. Milliseconds.
   */
  recalled: 24 * 3_600_000,
  /** Characters of all keys that are believed so. */
  leased: 4 * 1024 * 1024,
  /**
   * Credentials with remembered fingerprints, because the same credentials come with many requests, and characters of
   * what identifies them: an issuer may give a token an id of any length.
   */
  fingerprints: 10_000,
  fingerprintCharacters: 8 * 1024 * 1024,
  /**
   * How long requests wait for the look-up before theirs, so that they can share the next one, in milliseconds. Doubles
   * each time the wait was in vain.
   */
  lookUpPatience: 10,
  longestLookUpPatience: 160,
});

/** Limits of tokens and certificates, and of requests to their issuers. Times in milliseconds. */
export const TOKEN_LIMITS = Object.freeze({
  /** Nesting of arrays and objects in a token. */
  jsonDepth: 16,
  groups: 1_000,
  scopes: 1_000,
  /** Credentials that are remembered as verified, and their bytes; the one longest unused is forgotten first. */
  verified: 10_000,
  verifiedBytes: 64 * 1024 * 1024,
  /** Bytes of one document from an issuer, and how long it may take. */
  documentBytes: 1024 * 1024,
  documentDepth: 16,
  documentTimeout: 3_000,
  /** Keys of one issuer. */
  keys: 100,
  /** Bits of an RSA key: shorter ones are weak, longer ones slow. */
  rsaBits: Object.freeze({ least: 2_048, most: 8_192 }),
  /** The age at which keys are fetched again. A key that the issuer has withdrawn is refused by then. */
  keysFresh: 5 * 60_000,
  /** The least time between two fetches of the keys of one issuer. */
  keysCoolDown: 10_000,
  /**
   * How often keys are fetched although no token needs them, while there are none or the last fetch failed. Longer than
   * the least time between two fetches, so that tokens of new keys get their turn.
   */
  keysRetry: 30_000,
  /** How long known keys are used while the issuer cannot be reached. */
  keysKept: 24 * 3_600_000,
  /**
   * Opaque tokens that one endpoint is asked about at the same time: in all, and from one client address. `patience` is
   * how long others wait for that.
   */
  introspections: Object.freeze({ total: 64, perAddress: 16, patience: 3_000 }),
  /** When a client may ask again whose token could not be judged, in seconds. */
  issuerRetryAfter: 2,
  /** Bytes of the file with the secret of a client. */
  secretBytes: 16 * 1024,
  /** Bytes of the file of revoked credentials, enough for 120,000 of them; and how often the file is checked. */
  revocationsBytes: 8 * 1024 * 1024,
  revocationsInterval: 1_000,
});
