// Of keys, tokens and certificates.

export const KEY_LIMITS = Object.freeze({
  identities: 32,
  restrictions: 1_000,
  /** `last_used_at` is written at most so often for one key, in milliseconds. */
  lastUsedInterval: 60_000,
  /** Keys remembered as good when last presented; the one longest unused is forgotten first. */
  proven: 10_000,
  /** Credentials whose fingerprints are remembered: they come again with each request. */
  fingerprints: 10_000,
  /** How long requests wait for the end of the look-up before theirs, which they then share, in milliseconds; twice as long each time that it was in vain. */
  lookUpPatience: 10,
  longestLookUpPatience: 160,
});

/** Of tokens and certificates, and of what their issuers are asked. Times in milliseconds. */
export const TOKEN_LIMITS = Object.freeze({
  /** Arrays and objects inside one another in a token. */
  jsonDepth: 16,
  groups: 1_000,
  /** Credentials that are remembered as verified; the one longest unused is forgotten first. */
  verified: 10_000,
  /** Of one document that an issuer gives, and how long it may take. */
  documentBytes: 1024 * 1024,
  documentDepth: 16,
  documentTimeout: 3_000,
  /** Keys of one issuer. */
  keys: 100,
  /** Bits of an RSA key: shorter ones are weak, longer ones slow. */
  rsaBits: Object.freeze({ least: 2_048, most: 8_192 }),
  /** Keys are fetched again when they are so old, so a key that the issuer withdrew is refused by then. */
  keysFresh: 5 * 60_000,
  /** The least time between two fetches of the keys of one issuer. */
  keysCoolDown: 10_000,
  /** Known keys are used for so long while the issuer cannot be reached. */
  keysKept: 24 * 3_600_000,
  /** Opaque tokens that are asked about at once. */
  introspections: 64,
  /** Of the file with the secret of a client. */
  secretBytes: 16 * 1024,
  /** Of the file of revoked credentials: 120,000 of them; and how often it is looked at. */
  revocationsBytes: 8 * 1024 * 1024,
  revocationsInterval: 1_000,
});
