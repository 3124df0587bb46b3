// Of the store: pools of connections, the embedded engine, and who owns its folder.

/** Of a process and its store where the settings `database.*` say nothing else. Times are milliseconds. */
export const DATABASE_LIMITS = Object.freeze({
  /** Connections for queries, for what writes, and for keys and health, which queries cannot take. */
  maxConnections: 8,
  maxWriters: 4,
  maxVital: 2,
  /** How old what a replica answers may be. */
  replicaLag: 1_000,
  statementTimeout: 3_000,
  idleInTransaction: 10_000,
  /** How long a new connection may take to come about. */
  connectTimeout: 5_000,
  /** How long a request may wait for a connection. Taking over the folder of an owner that was killed takes one to two seconds. */
  acquireTimeout: Object.freeze({ embedded: 5_000, external: 1_000 }),
});

/** Of connections to the store, where nothing can be set. Times are milliseconds. */
export const POOL_LIMITS = Object.freeze({
  /** Requests that may wait for a connection of a pool; one more is refused at once. */
  waiting: 64,
  /** How long a connection may do nothing before it is ended. */
  idleTimeout: 30_000,
  /** PostgreSQL ends a statement itself; we give it up so much later, for a network that went silent. */
  statementGrace: 500,
  /** The server forgets a request to cancel that it has not got by then; so do we. */
  cancelTimeout: 1_000,
  /** How long connections in use have to come back when the store is closed. */
  closeTimeout: 5_000,
  /** A listener asks so often whether its connection is still there, and waits so long before it makes another one. */
  listenPulse: 15_000,
  listenRetry: 500,
  /** How often the age of a replica is measured at most; else four times within the age that it may have. */
  replicaPulse: 50,
  /** Wait before a transaction that the store gave up is begun again, about; twice as long each time. */
  transactionRetry: 10,
});

/** Of the embedded store, in the process that owns its folder, for all that use it. Times are milliseconds. */
export const EMBEDDED_LIMITS = Object.freeze({
  connections: 512,
  /** Clients that may wait for the engine; one more is refused. */
  waiting: 64,
  /** Of one message of a client, far above any statement and row of ours. */
  messageBytes: 256 * 1024 * 1024,
  /** Of one COPY, which is collected before it is run. Loaders send less at a time. */
  copyBytes: 256 * 1024 * 1024,
  /**
   * It runs one statement at a time, so a query may take this part of what a statement waits: as long as each of two askers before it, and
   * no longer.
   */
  queryShare: 1 / 3,
  /** After a unit that took so many milliseconds there is a pause of so many, in which new clients are greeted and say what they want. */
  longUnit: 100,
  pauseAfterLong: 10,
  /** Pages that the engine keeps, and the log that it writes before a checkpoint, as PostgreSQL has them. All pages are memory from the start. */
  sharedBuffers: '48MB',
  walSize: '256MB',
  /** Of new objects of its thread, which has few: as much as other threads may have would only be memory. */
  youngMegabytes: 8,
  /** Room on the disk that a new store takes while it is made. */
  newStoreBytes: 64 * 1024 * 1024,
  /** Lines of the engine's standard error that are quoted when it fails. */
  lastWords: 8,
  /** How long clients may finish what they have begun when the store closes, and how long all of closing may take. */
  drainTimeout: 3_000,
  closeTimeout: 15_000,
});

/** Of who owns the folder of an embedded store. Times are milliseconds. */
export const OWNER_LIMITS = Object.freeze({
  /** Owners touch their lock this often, and one that others cannot see is taken for dead after this long without. */
  heartbeat: 2_000,
  heartbeatLost: 30_000,
  /** An owner that does not answer may still make its first store; after this long it is taken for out of reach. */
  reachTimeout: 40_000,
  /** How soon an owner that does not answer is tried again, and after how long a start says for whom it waits. */
  reachRetry: 50,
  waitNotice: 2_000,
});
