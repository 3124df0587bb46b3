// Limits of the store: pools of connections, the embedded engine, and the ownership of its folder.

/** Limits of a process and its store unless the settings `database.*` say otherwise. Times are in milliseconds. */
export const DATABASE_LIMITS = Object.freeze({
  /** Connections for queries, for writes, and for keys and health, which queries cannot take. */
  maxConnections: 8,
  maxWriters: 4,
  maxVital: 2,
  /** How old the answers of a replica may be. */
  replicaLag: 1_000,
  statementTimeout: 3_000,
  idleInTransaction: 10_000,
  /** How long opening a connection may take. */
  connectTimeout: 5_000,
  /**
   * How long a request may wait for a connection. Taking over the folder of a killed owner takes one to two seconds.
   */
  acquireTimeout: Object.freeze({ embedded: 5_000, external: 1_000 }),
});

/** Limits of connections to the store that cannot be set. Times are in milliseconds. */
export const POOL_LIMITS = Object.freeze({
  /** Requests that may wait for a connection of a pool. One more is refused at once. */
  waiting: 64,
  /** How long a connection may be idle before it is ended. */
  idleTimeout: 30_000,
  /** PostgreSQL ends a statement itself. We give it up this much later, in case the network went silent. */
  statementGrace: 500,
  /** Without a time limit for statements: a server that has answered nothing for so long, while all connections are in use, is away. */
  silence: 3_500,
  /** How long a request to cancel may take. By then the server drops one that it has not received, and so do we. */
  cancelTimeout: 1_000,
  /** How long connections in use may take to come back when the store is closed. */
  closeTimeout: 5_000,
  /** How often a pooler's sessions are compared at the start, and how long an answer may take meanwhile. */
  poolerRounds: 3,
  poolerPatience: 2_000,
  /** How often the log looks whether the store is there. */
  watchInterval: 1_000,
  /** For how long no write may have failed before a disk that was full counts as having room. */
  fullDiskQuiet: 5_000,
  /** How often a listener checks that its connection is alive, and how long it waits for its end, or before it makes another one. */
  listenPulse: 15_000,
  listenEnd: 1_000,
  listenRetry: { first: 500, longest: 10_000 },
  /**
   * The shortest time between measurements of a replica's age. Otherwise it is measured four times within the allowed
   * age.
   */
  replicaPulse: 50,
  /** About how long to wait before an aborted transaction is repeated; doubles each time. */
  transactionRetry: 10,
});

/**
 * Limits of the embedded store, in the process that owns its folder, for all its clients. Times are in milliseconds.
 */
export const EMBEDDED_LIMITS = Object.freeze({
  connections: 512,
  /** Clients that may wait for the engine. One more is refused. */
  waiting: 64,
  /** Bytes of what one client sends before it gets an answer, far more than any statement or row of ours. */
  messageBytes: 256 * 1024 * 1024,
  /** Requests that one client may send before it gets the answer to the first. Ours send one. */
  units: 64,
  /** Bytes of one COPY, which is collected before it runs. Loaders send less at a time. */
  copyBytes: 256 * 1024 * 1024,
  /**
   * The share of a statement's waiting time that a query may run. The engine runs one statement at a time, so with this
   * share a query can still run after those of two other callers. Brief ones of theirs, of which they have two, take none
   * of it.
   */
  queryShare: 1 / 3,
  /** An actor whose queries take at most so many milliseconds may have a second one in the engine's queue. */
  briefQuery: 20,
  /**
   * After a unit that took `longUnit` milliseconds there is a pause, in which new clients can connect and send their
   * requests.
   */
  longUnit: 100,
  pauseAfterLong: 10,
  /**
   * After so many units, statements are planned anew. A plan from when the store was small may read all records, and the
   * engine has no autovacuum, which on a server makes plans anew.
   */
  unitsPerPlan: 2_000,
  /**
   * Pages that the engine keeps, and the log that it writes before a checkpoint, as PostgreSQL settings. All pages are
   * allocated at the start.
   */
  sharedBuffers: '48MB',
  walSize: '256MB',
  /** Megabytes for new objects of its thread. It has few, so the usual size would only waste memory. */
  youngMegabytes: 8,
  /** Disk space that a new store needs while it is made. */
  newStoreBytes: 64 * 1024 * 1024,
  /** Lines of the engine's standard error that are quoted when it fails. */
  lastWords: 8,
  /** How long opening the store may take, making it and recovering it included. */
  openTimeout: 600_000,
  /** How long clients may take to finish when the store closes, and how long all of closing may take. */
  drainTimeout: 3_000,
  closeTimeout: 15_000,
});

/** Limits of owning the folder of an embedded store. Times are in milliseconds. */
export const OWNER_LIMITS = Object.freeze({
  /**
   * How often owners touch their lock. An owner whose process others cannot see counts as dead after `heartbeatLost`
   * without a touch.
   */
  heartbeat: 2_000,
  heartbeatLost: 30_000,
  /** How long the folder may take to take a small file before anything else is done there. */
  diskPatience: 20_000,
  /** How long the end of an owner waits for a disk that does not take the release. */
  releasePatience: 5_000,
  /** An owner that does not answer may still be making its first store. After this long it counts as out of reach. */
  reachTimeout: 40_000,
  /** How soon a silent owner is tried again, and after how long a start says for whom it waits. */
  reachRetry: 50,
  waitNotice: 2_000,
});

export const FILE_LIMITS = Object.freeze({
  /** Milliseconds after which an unfinished file is removed, because nobody can still be writing it. */
  draftAge: 3_600_000,
});

export const PARTITION_LIMITS = Object.freeze({
  /** Namespaces with a partition. A record is looked up by its id in each of them, and the planner looks at all their indexes. */
  namespaces: 32,
});
