// Of the audit log and of the log on stderr.

/** Of the audit log. */
export const AUDIT_LIMITS = Object.freeze({
  /** Milliseconds that the log may be unwritable before commands are refused; the settings may say otherwise. */
  lag: 10_000,
  /** Grants that one event names; it counts the others. */
  grants: 100,
  /** Parts of a visible set whose grants an event names. */
  citedParts: 100,
  /** Credentials whose first request has been recorded; the one longest unseen is forgotten first. */
  seenCredentials: 10_000,
  /** Failed authentications that are recorded in a second; more are counted. */
  failedAuthentications: 10,
  /** Milliseconds that an event waits for others, to share an fsync with them. */
  groupDelay: 25,
  /** The same where others were carried from the outbox just before, in which it is safe: each group takes two transactions. */
  drainDelay: 100,
  /** Of one write. */
  groupBytes: 1024 * 1024,
  /** A file that is as long is closed, and the log goes on in another. */
  fileBytes: 64 * 1024 * 1024,
  /** Events that wait to be written; one more is lost, and counted. */
  queuedEvents: 10_000,
  /** Milliseconds until what failed is tried again. */
  retryDelay: 1_000,
  /** Events of the outbox that are carried to the log together. */
  drained: 500,
  /** Milliseconds between two notes of where the log is. */
  headInterval: 10_000,
  removedBeforeTidying: 5_000,
  /** Of one line that is read, above any event: a key may have a thousand namespaces of a thousand characters. */
  lineBytes: 4 * 1024 * 1024,
  /** Faults of a log that are reported, of all that are counted. */
  keptFaults: 1_000,
  /** Snapshots that a replay holds at once, and actors of each: what it needs again, it reads again. */
  replayedSnapshots: 4,
  replayedActors: 10_000,
});

export const LOG_LIMITS = Object.freeze({
  /** Of lines that wait to be written; more are dropped and counted. */
  bufferCharacters: 4 * 1024 * 1024,
  /** How soon a reader that took nothing is tried again, in milliseconds. */
  retryInterval: 50,
  /** How long the end of the process waits for the last lines, in milliseconds. */
  flushTimeout: 1_000,
  /** Errors that caused an error, and so on. */
  causes: 4,
  /**
   * In so many milliseconds so many requests that are refused for their rate have a line each. The others are counted in one, with so many
   * addresses.
   */
  floodInterval: 1_000,
  floodLines: 20,
  floodAddresses: 16,
});
