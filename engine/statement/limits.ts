// Maxima of signed statements and keyrings, in one object; checked before anything is decoded (engine/README.md "Publication
// statements").

export const STATEMENT_LIMITS = Object.freeze({
  /** Bytes of a statement file. */
  fileBytes: 64 * 1024,
  /** Arrays and objects inside one another in it. */
  fileDepth: 8,
  /** Signatures of one statement. Each may be tried with each key, so the two limits together bound the work: 4,096 trials. */
  signatures: 64,
  /** Bytes of a keyring file. */
  keyringBytes: 64 * 1024,
  keys: 64,
  /** The greatest generation: below what is exact in JSON by far, so that one slip of a publisher can be overtaken. */
  generation: 999_999_999_999_999,
  /** Milliseconds that a publisher's clock may be ahead of ours. */
  clockSkew: 5 * 60 * 1000,
});
