// Of the command line and its configuration file.

/** Of the command line; those of policies are the engine's and `POLICY_LIMITS`. */
export const CLI_LIMITS = Object.freeze({
  /** Bytes of one line of requests. */
  requestBytes: 1024 * 1024,
  /** Arrays and objects inside one another in a line of requests. */
  requestDepth: 16,
  /** Of a file with a key or token. */
  credentialBytes: 16 * 1024,
  /** Of the answer of a gateway that is asked, and how long it may take, in milliseconds. */
  answerBytes: 16 * 1024 * 1024,
  answerTimeout: 15_000,
  /** Characters of the rows of a comment on GitHub, which may have 65,536 with what else is in ours; and bytes of one annotation, the hint at its end aside. */
  commentCharacters: 60_000,
  annotationBytes: 16_384,
  /** Bytes of a file with a key, and of an answer of a gateway's admin listener. */
  keyFileBytes: 4096,
  adminAnswerBytes: 8 * 1024 * 1024,
  /** How long such an answer is waited for, in milliseconds. */
  adminPatience: 10_000,
  /** Of one that comes after a large snapshot was opened and compared. */
  shadowPatience: 70_000,
});

export const CONFIG_LIMITS = Object.freeze({
  fileBytes: 1024 * 1024,
});
