// Of policies: their folders, the places they come from, the snapshots in the store, and their signatures.

export const POLICY_LIMITS = Object.freeze({
  /** Folders inside one another in a policy. */
  folderDepth: 32,
  /** Bytes of a snapshot file, as the engine has it: more are not even read. */
  snapshotBytes: 400 * 1024 * 1024,
  /** Bytes of snapshots that admins have sent so far and that are yet to be stored or refused: one that stalls leaves room for another. */
  uploadBytes: 800 * 1024 * 1024,
  /** Bytes that are read, checked and verified within a second anywhere: for fewer no progress is shown. */
  quietBytes: 2 * 1024 * 1024,
  /** Bytes of a snapshot that is opened within 10 milliseconds, sooner than a thread begins. */
  smallBytes: 16 * 1024,
  /** Activations that are remembered. */
  history: 100,
  /** Actors that are kept resolved for one policy: each takes 8 KiB at most, and four bytes for each role that it is in. */
  resolvedActors: 1_024,
  /** Mistakes of a policy that was not taken over, as log and status tell them. */
  toldProblems: 20,
  /** Bytes of the file that says what is published in a directory store. */
  pointerBytes: 4096,
  /** Files of a folder whose state is asked for at once. */
  statBatch: 64,
});

/** Of the places that policies come from. */
export const SOURCE_LIMITS = Object.freeze({
  /** How long all answers of one look may take together, in milliseconds. */
  fetchTimeout: 60_000,
  /** Bytes that arrive are gathered in pieces of so many, which a thread takes over as they are. */
  partBytes: 1024 * 1024,
  /** How long one run of git may take, in milliseconds. */
  gitTimeout: 30_000,
  /** Bytes of an answer of git that is a name or two; and of the list of a tree's files, how many there may be, and how they are read. */
  gitAnswerBytes: 64 * 1024,
  treeBytes: 16 * 1024 * 1024,
  treeFiles: 40_000,
  batchBytes: 16 * 1024 * 1024,
  /** Characters of a path that a message quotes. */
  shownPath: 200,
});

/** Of snapshots in the store, and of what follows its activations. Times are milliseconds. */
export const STORED_LIMITS = Object.freeze({
  /** Of a snapshot in one row, before it is compressed: little enough that the embedded store has time for others in between. */
  partBytes: 1024 * 1024,
  /** Snapshots that are kept, those that were used last; what is in force is one of them. */
  kept: 30,
  /** Parts without a snapshot are swept when nobody can be writing them any more. */
  unfinished: 3_600_000,
  /** How often the newest activation is looked for where nothing was announced. */
  poll: 500,
  /** The store may take so long to say which is the newest. Then nothing is decided: another may have been. As long as requests wait for it. */
  silence: Object.freeze({ embedded: 5_000, external: 2_000 }),
  /** What could not be put in force is tried again after so long: a keyring may have changed. */
  retry: 30_000,
});

/** Of gateways that see one another in their store. Times are milliseconds. */
export const PEER_LIMITS = Object.freeze({
  /** How often a gateway says that it is there. */
  beat: 5_000,
  /** One that was not seen for so long is not shown, and after so long its row is removed. */
  unseen: 15_000,
  forgotten: 60_000,
  /** That are shown. */
  listed: 100,
});

/** Of the files that publication works with; those of statements and keyrings are the engine's. */
export const SIGNING_LIMITS = Object.freeze({
  /** Bytes of a private key's file. */
  keyBytes: 4_096,
});

/** Of a candidate that is judged beside the policy in force. Times are milliseconds. */
export const SHADOW_LIMITS = Object.freeze({
  /** Questions that wait to be compared, and namespaces of visible sets in them; one more is skipped, and counted. */
  waiting: 2_000,
  waitingPlaces: 200_000,
  /** How long comparisons go on before requests have their turn, and the part of the thread's time that they take at most. */
  turn: 1,
  share: 0.1,
  /** Differing questions that are kept as examples, and namespaces that one of them names on each side. */
  examples: 20,
  places: 5,
  /** Rows of the exact difference that an answer lists on each side, and entries of each list in one of them. */
  rows: 50,
  entries: 20,
});
