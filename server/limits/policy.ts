// Limits of policies: their folders, their sources, the snapshots in the store, and their signatures.

export const POLICY_LIMITS = Object.freeze({
  /**
   * Milliseconds in which a snapshot has to be loaded for proofs, in which one question has to be proved, in which it has to
   * be answered, those before it included, and for which the thread is kept after the last one. An answer must come before
   * its connection ends (`HTTP_LIMITS.idleSocketTimeout`).
   */
  proofLoad: 60_000,
  proofTime: 10_000,
  proofPatience: 60_000,
  proofIdle: 60_000,
  /** Questions that may wait for others to be proved. */
  proofsWaiting: 64,
  /** Nesting of folders in a policy. */
  folderDepth: 32,
  /** Entries of hidden folders in which policy is looked for. It is not read there, and an error. */
  hiddenEntries: 10_000,
  /** Bytes of a snapshot file, the same as in the engine. A larger file is not even read. */
  snapshotBytes: 400 * 1024 * 1024,
  /**
   * Bytes of snapshots that admins are sending and that are not yet stored or refused. An upload that stalls still
   * leaves room for another.
   */
  uploadBytes: 800 * 1024 * 1024,
  /** Milliseconds in which a snapshot that was sent has to be verified, those before it included. */
  uploadPatience: 60_000,
  /** Bytes that are read, checked and verified within a second on any machine. Up to this size no progress is shown. */
  quietBytes: 2 * 1024 * 1024,
  /**
   * Limits of the engine (engine/limits.ts) for a snapshot that is opened, and whose labels are checked, on the thread
   * that answers requests: each takes some ten milliseconds at most, which is less than starting a thread. A small file may
   * have many grants for members with a window, and each of its times may meet all others.
   */
  small: Object.freeze({ snapshotBytes: 16 * 1024, grants: 256, expandedRows: 5_000, intervals: 500 }),
  /** Activations that are remembered. */
  history: 100,
  /**
   * Resolved actors that are kept for one policy. Each takes 8 KiB at most, plus four bytes for each role that it is
   * in, and what its credential says of it, which is counted.
   */
  resolvedActors: 1_024,
  resolvedActorBytes: 32 * 1024 * 1024,
  /** Mistakes of a refused policy that log and status show. */
  toldProblems: 20,
  /** Bytes of the file in a directory store that says what is published. */
  pointerBytes: 4096,
});

/** Limits of the sources of policies. Times are in milliseconds. */
export const SOURCE_LIMITS = Object.freeze({
  /** How long all answers of one look at a source may take together. */
  lookTime: 60_000,
  /**
   * How long the objects of one look may be searched for SHA-1 collisions, besides. All files that a policy may have take
   * seven minutes on a machine that does nothing else.
   */
  checkTime: 1_800_000,
  /** How long a source may say nothing: until it has connected, and between two pieces of an answer. */
  silence: 10_000,
  /** How long somebody may write at a path before log and status say that nothing is read meanwhile. */
  unsettled: 10_000,
  /** Bytes of the pieces in which arriving data is gathered. A thread takes the pieces over without copying. */
  partBytes: 1024 * 1024,
  /** Bytes of an answer of git that is a name or two. */
  gitAnswerBytes: 64 * 1024,
  /** Bytes of any object of a repository, and of one commit or tag. */
  objectBytes: 400 * 1024 * 1024,
  commitBytes: 1024 * 1024,
  /** Bytes of the trees of a folder together, its files and folders, and how deep they may be nested. */
  treeBytes: 16 * 1024 * 1024,
  treeEntries: 40_000,
  treeDepth: 64,
  /** Commits that are read to find out whether one descends from another. */
  historyCommits: 10_000,
  /** Characters of a path that a message quotes. */
  shownPath: 200,
});

/** Limits of the history of a policy in git. */
export const HISTORY_LIMITS = Object.freeze({
  /** Commits of one history, and before where it begins. */
  commits: 100_000,
  /** How long reading a history may take, in milliseconds. */
  time: 24 * 3_600_000,
  /** Folders of one commit in which a policy that was moved is looked for. */
  searchedFolders: 10_000,
  /** Bytes of one kept answer; a larger one is computed each time. */
  keptBytes: 64 * 1024 * 1024,
  /** Bytes of all kept answers together. If there are more, those that were used least recently are removed. */
  allKeptBytes: 1024 * 1024 * 1024,
});

export const AGE_LIMITS = Object.freeze({
  /** How often to look whether the policy in force has become too old, in milliseconds. */
  interval: 1_000,
  /** How often the store is told that the source has confirmed the policy, at most, in milliseconds. */
  noted: 10_000,
  /** Milliseconds by which two clocks may differ. A confirmation that is further ahead says that a clock was set back. */
  clocksDiffer: 60_000,
});

/** Limits of snapshots in the store, and of following its activations. Times are in milliseconds. */
export const STORED_LIMITS = Object.freeze({
  /**
   * Bytes of a snapshot in one row, before compression: small enough that the embedded store has time for others in
   * between.
   */
  partBytes: 1024 * 1024,
  /** How many snapshots are kept: those that were used last, including the one in force. */
  kept: 30,
  /** The age at which parts without a snapshot are removed, because nobody can still be writing them. */
  unfinished: 3_600_000,
  /** Tables that are kept beside them as files: of the snapshots that were used last. */
  keptTables: 4,
  /** Bytes of the smallest table that is kept. A smaller one is derived in less than a tenth of a second. */
  leastTableBytes: 1024 * 1024,
  /** How long the reading of a table may take. After that it is derived instead. */
  tableReading: 10_000,
  /** How long an activation, or the end of the gateway, waits for a table that is being kept. */
  tablePatience: 5_000,
  /** How often to look for the newest activation if nothing was announced. */
  poll: 500,
  /**
   * How long the store may take to say which activation is the newest. After that nothing is decided, because there may
   * be a newer one. This is about as long as requests wait for the store.
   */
  silence: Object.freeze({ embedded: 5_000, external: 2_000 }),
  /** How long until a refused snapshot is tried again: a keyring may have changed. */
  retry: 30_000,
});

/** Limits of gateways that see one another in their store. Times are in milliseconds. */
export const PEER_LIMITS = Object.freeze({
  /** How often a gateway reports that it is alive. */
  heartbeat: 5_000,
  /** How long until an unseen gateway is no longer shown, and until its row is removed. */
  unseen: 15_000,
  forgotten: 60_000,
  /** Gateways that are shown. */
  listed: 100,
});

/** Limits of the files for publication. Those of statements and keyrings are the engine's. */
export const SIGNING_LIMITS = Object.freeze({
  /** Milliseconds in which a gateway has to get a keyring or a statement from the disk. */
  reading: 5_000,
  /** Bytes of a private key's file. */
  keyBytes: 4_096,
});

/** Limits of a candidate that is judged beside the policy in force. Times are in milliseconds. */
export const SHADOW_LIMITS = Object.freeze({
  /**
   * Questions that may wait to be compared, and namespaces of visible sets in them. One more is skipped, and counted.
   */
  waiting: 2_000,
  waitingPlaces: 200_000,
  /**
   * How long comparisons run before requests get their turn, and the largest share of the thread's time that they take.
   */
  turn: 1,
  share: 0.1,
  /** The pause before a candidate that the store did not give is asked for again. It doubles each time. */
  pause: 100,
  longestPause: 10_000,
  /** Questions with different answers that are kept as examples, and namespaces that one of them names on each side. */
  examples: 20,
  places: 5,
  /** Rows of the exact difference that an answer lists on each side, and entries of each list in one of them. */
  rows: 50,
  entries: 20,
});
