// Limits of the audit log and of the log on stderr.

/** Limits of the audit log. */
export const AUDIT_LIMITS = Object.freeze({
  /** Milliseconds that the log may be unwritable before commands are refused; the settings may say otherwise. */
  lag: 10_000,
  /** Characters of a reason, or of where a policy came from, that an event holds. */
  textLength: 500,
  /** Grants that one event names. It only counts the others. */
  grants: 100,
  /** Records that an event names although the others of their kind are held as a set. */
  listedPlain: 16,
  /** Records that one event names at most, in 39 bytes each; more are a set. */
  listedIds: 1_000,
  /** Events that may wait with the ids that they are about; those of later ones become a set at once. */
  queuedLists: 1_000,
  /** Different accesses that `unused` remembers, in about 300 bytes each. */
  needs: 1_000_000,
  /** Parts of a visible set for which an event names grants. */
  citedParts: 100,
  /** Steps in which these are looked for, some 100 ns each: each role of the actor at each part, and each grant. */
  citedSteps: 250_000,
  /**
   * Credentials that are remembered because their first request has been recorded. The one longest unseen is forgotten
   * first.
   */
  seenCredentials: 10_000,
  /** Failed authentications that are recorded per second. More are only counted. */
  failedAuthentications: 10,
  /** Milliseconds that an event waits for others, to share an fsync with them. */
  groupDelay: 25,
  /**
   * The same for events in the outbox shortly after others were carried. They are safe there, and each group takes two
   * transactions.
   */
  drainDelay: 100,
  /** Bytes of one write. */
  groupBytes: 1024 * 1024,
  /** When a file has this many bytes, it is closed and the log goes on in another. */
  fileBytes: 64 * 1024 * 1024,
  /** Events without room of a request that may wait to be written. One more is lost, and counted. */
  queuedEvents: 10_000,
  /** Events of requests that may wait to be written, and bytes of them: of all, and of one actor. */
  room: Object.freeze({ events: 8_000, bytes: 128 * 1024 * 1024 }),
  roomOfActor: Object.freeze({ events: 2_000, bytes: 40 * 1024 * 1024 }),
  /** Milliseconds that a request waits for room. */
  roomPatience: 5_000,
  /** Bytes of an event beside what its credential carries, of which those who are asked about are not counted. */
  eventBytes: 1_024,
  /** Milliseconds before a failed write is tried again. */
  retryDelay: 1_000,
  /** Milliseconds after which a write that the disk neither takes nor refuses counts as failing. */
  writePatience: 5_000,
  /** Events of the outbox that are carried to the log together, and bytes after which no more are taken along. */
  drained: 500,
  drainedBytes: 4 * 1024 * 1024,
  /** Milliseconds between two notes of the log's head, beside those that come with each event of the outbox. */
  headInterval: 1_000,
  /** Milliseconds between two looks at what other logs have claimed. */
  lookInterval: 10_000,
  /** Milliseconds after which the log says again what it has said of them, if nothing has changed. */
  repeatInterval: 3_600_000,
  removedBeforeTidying: 5_000,
  /** Logs of one store that a start or a verification compares with what is there. */
  knownLogs: 10_000,
  /**
   * Bytes of one line that is read, which is more than any event has: a key may have a thousand namespaces of a
   * thousand characters.
   */
  lineBytes: 4 * 1024 * 1024,
  /** Faults of a log that are reported. All are counted. */
  keptFaults: 1_000,
  /** Events after which the gateway signs a checkpoint, and milliseconds after which it signs one of fewer. */
  checkpointEvents: 1_000,
  checkpointInterval: 600_000,
  /** Milliseconds between two looks at how far the log has come. */
  checkpointLook: 1_000,
  /** For one answer of a witness, in milliseconds and bytes. */
  witnessTimeout: 10_000,
  witnessBytes: 16 * 1024,
  /** Milliseconds that the end of the gateway waits for witnesses. */
  witnessAtEnd: 3_000,
  /**
   * Snapshots that a replay keeps at once, and actors of each, with the characters of what events say of them. Others are
   * read again when they are needed.
   */
  replayedSnapshots: 4,
  replayedActors: 10_000,
  replayedCharacters: 16 * 1024 * 1024,
  /** Events that one answer to an admin has at most, and if the request does not say how many; and their characters. */
  shownEvents: 1_000,
  shownEventsUsually: 100,
  shownCharacters: 16 * 1024 * 1024,
  /** Milliseconds that reading the log for an admin may take with the wait for others, and admins who may wait at once. */
  readingTime: 60_000,
  readingWaiting: 8,
});

export const LOG_LIMITS = Object.freeze({
  /** Characters of lines that wait to be written. More lines are dropped and counted. */
  bufferCharacters: 4 * 1024 * 1024,
  /** How soon a reader that took nothing is tried again, in milliseconds. */
  retryInterval: 50,
  /** How long the end of the process waits for the last lines, in milliseconds. */
  flushTimeout: 1_000,
  /** Digits of a snapshot's digest in the line of a request. */
  digestCharacters: 12,
  /** Characters of a message of the database that are shown. */
  databaseMessage: 300,
  /** How many causes of an error are logged, each the cause of the one before. */
  causes: 4,
  /**
   * In each interval of this many milliseconds, this many requests of strangers that are refused, and of others that are
   * refused for their rate, get a line each. The others are counted in one line, with up to this many addresses.
   */
  floodInterval: 1_000,
  floodLines: 20,
  floodAddresses: 16,
});
