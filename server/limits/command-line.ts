// Limits of the command line and its configuration file.

/** Limits of the command line. The limits of policies are the engine's and `POLICY_LIMITS`. */
export const CLI_LIMITS = Object.freeze({
  /** Bytes of one line of requests. */
  requestBytes: 1024 * 1024,
  /** Nesting of arrays and objects in a line of requests. */
  requestDepth: 16,
  /** Bytes of a file with a key or token. */
  credentialBytes: 16 * 1024,
  /** Bytes of a gateway's answer, and how long it may take, in milliseconds. */
  answerBytes: 16 * 1024 * 1024,
  answerTimeout: 15_000,
  /**
   * Characters of the rows in a comment on GitHub, which limits our whole comment to 65,536. And bytes of one
   * annotation, without the hint at its end.
   */
  commentCharacters: 60_000,
  annotationBytes: 16_384,
  /** Changes of one kind that a page lists above its picture. */
  pageLines: 1_000,
  /** Bytes of a file with a key, and of an answer of a gateway's admin listener. */
  keyFileBytes: 4096,
  adminAnswerBytes: 8 * 1024 * 1024,
  /** How long to wait for such an answer, in milliseconds. */
  adminPatience: 10_000,
  /** The same for an answer that first needs a large snapshot to be opened and compared. */
  shadowPatience: 70_000,
});

/** Limits of access reviews. Nobody decides about more rows with care; a population beyond them is selected in parts. */
export const REVIEW_LIMITS = Object.freeze({
  rows: 100_000,
  /** Bytes of a population, of a sheet, and of a report, which holds a population in base64. */
  fileBytes: 128 * 1024 * 1024,
  reportBytes: 256 * 1024 * 1024,
});

export const CONFIG_LIMITS = Object.freeze({
  fileBytes: 1024 * 1024,
});

/** Limits of `import`. */
export const IMPORT_LIMITS = Object.freeze({
  /** Bytes of all files together. */
  bytes: 64 * 1024 * 1024,
  /** Questions that both sides answer; a million takes a few seconds. */
  questions: 5_000_000,
});

/** Of `bailiwick console`, in milliseconds unless stated. */
export const CONSOLE_LIMITS = Object.freeze({
  /** How long the address may be opened. */
  unused: 60_000,
  /** How long the page may ask for nothing. Browsers let a page in the background ask once a minute. */
  idle: 300_000,
  /** How long a session may last. */
  session: 3_600_000,
  /** For one request and its answer. */
  request: 120_000,
  connections: 64,
  codeCharacters: 1_024,
});
