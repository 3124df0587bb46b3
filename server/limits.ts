// Every fixed time, size and count that bounds what this program takes, keeps and waits for, in groups. What an operator may set is a
// setting, and stands here with the value that it has unless it is set. Lengths that a format fixes, and numbers by which an algorithm
// chooses its way or a report its length, stand where they are used: they refuse nobody anything.

export const HTTP_LIMITS = Object.freeze({
  /** Bytes of a request body, beside the cursor that it may carry. */
  bodyBytes: 1024 * 1024,
  /**
   * Characters of a cursor, so that every `next` can be sent back. A place holds texts of one record, which is no larger than
   * a line of a dataset (1 MiB; whatever else writes records is held to it); what is not in the line (numbers written out,
   * instants, the lengths) is below 1 KiB for each of 16 sort keys and the id. Sealing adds 29 bytes, base64 a third:
   * (1,048,576 + 17 * 1,024 + 29) * 4 / 3 = 1,421,351, and the rest is room.
   */
  cursorCharacters: 1536 * 1024,
  /** Bytes that a body with a cursor may have beside it and `bodyBytes`: the key `page` with its `after`, and white space. */
  cursorMemberBytes: 1024,
  idempotencyKeyCharacters: 255,
  /** Arrays and objects inside one another in a body. */
  jsonDepth: 32,
  /** Characters of the request target; a namespace is at most 1,024. */
  targetCharacters: 4096,
  loggedPathCharacters: 256,
  /** Of a key that a pointer in an answer names. */
  pointerKeyCharacters: 64,
  /** Bytes of all request headers, and how many of them. */
  headerBytes: 16 * 1024,
  headers: 100,
  /** Characters of an `Authorization` value that are looked at. */
  credentialCharacters: 8192,
  /** Sockets open at once. */
  connections: 4096,
  requestsPerSocket: 100_000,
  /** Milliseconds. */
  headersTimeout: 8_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 65_000,
  /** How often Node looks for sockets past a timeout. */
  timeoutCheckInterval: 1_000,
  /** A socket on which nothing moves for so long is closed. */
  idleSocketTimeout: 75_000,
  /** How often an answer that is still to be read is looked at: nothing taken between two looks ends the connection. */
  writeTimeout: 10_000,
  /** How much of a refused body is read, and for how long, so that the client can read its answer. */
  discardBytes: 4 * 1024 * 1024,
  discardTimeout: 2_000,
  /**
   * How long a shutdown waits for requests in flight unless the settings say otherwise, and for clients that have
   * connected but sent nothing.
   */
  drainTimeout: 20_000,
  drainSilence: 1_000,
});

/** Of the workers of a gateway. Times are milliseconds. */
export const WORKER_LIMITS = Object.freeze({
  /** How long an audit event waits for others, to be handed over with them. */
  eventDelay: 10,
  /** A primary that has not taken events over for so long keeps no log. */
  silence: 1_000,
  /** How often processes tell one another what has changed. */
  exchange: 100,
  /** Before a worker that died is replaced; twice as long each time, until one has lived for so long. */
  pause: 100,
  longestPause: 10_000,
  stable: 30_000,
  /** How long a start may take, and how many in a row may fail before the gateway ends. */
  startTimeout: 60_000,
  starts: 5,
  /** How long a worker may take to end, beyond what its requests have. */
  closeTimeout: 10_000,
});

export const HEALTH_LIMITS = Object.freeze({
  /** How long an answer of the store counts, and how long one is waited for, in milliseconds. */
  interval: 1_000,
  patience: 2_000,
});

export const TLS_LIMITS = Object.freeze({
  /** Bytes of a file of certificates or of a key. */
  fileBytes: 1024 * 1024,
  /** How often the files are looked at, in milliseconds. */
  pollInterval: 10_000,
  /** How long a client may take to greet, in milliseconds. */
  handshakeTimeout: 8_000,
});

/** Of the systems that this program runs on. */
export const SYSTEM_LIMITS = Object.freeze({
  /** Of the path of a Unix socket; 104 of them, with the zero at the end, are what every system takes. */
  socketPathBytes: 103,
});

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

/**
 * What is remembered of queries for actors who come again, in characters, together about 200 MB at most: it takes two to three bytes a
 * character in this process, and the server takes about 200 for each that a connection has prepared.
 */
export const MEMORY_LIMITS = Object.freeze({
  /** Namespaces of visible sets, each with some for what holds it: 700,000 of 30 characters, or 60,000 of 1,024. And sets. */
  visibleSets: 64_000_000,
  visibleSetCount: 10_000,
  /** Statements of pages and counts with what they bind; and one: a larger one takes the store so long that writing it is nothing. */
  pageStatements: 8_000_000,
  pageStatement: 16_000,
  /** Texts that have a name, and what a connection has prepared; and one. */
  preparedTexts: 160_000,
  preparedText: 40_000,
  /** Texts without a name whose coming back is watched for. */
  watchedTexts: 256,
  /** Of values, that may be sent again for each place of a prepared text where they stand. */
  repeatedValues: 100_000,
});

export const SHARE_LIMITS = Object.freeze({
  /** Requests of one actor that wait for others of its own; one more is refused at once. */
  waiting: 256,
  /** How long each waits, in milliseconds. */
  patience: 5_000,
  /** Bytes of answers made and not read: of one connection, of one actor (or address, where nobody is known), and of all. */
  connectionUnreadBytes: 16 * 1024 * 1024,
  unreadBytes: 32 * 1024 * 1024,
  totalUnreadBytes: 256 * 1024 * 1024,
  /** Seconds that a refused client is told to wait. */
  retryAfter: 1,
});

export const RATE_LIMITS = Object.freeze({
  /** Addresses or actors counted at once; the one longest quiet is dropped first. */
  buckets: 10_000,
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

export const POLICY_LIMITS = Object.freeze({
  /** Folders inside one another in a policy. */
  folderDepth: 32,
  /** Bytes of a snapshot file, as the engine has it: more are not even read. */
  snapshotBytes: 400 * 1024 * 1024,
  /** Bytes that are read, checked and verified within a second anywhere: for fewer no progress is shown. */
  quietBytes: 2 * 1024 * 1024,
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
  /** What could not be put in force is tried again after so long: a keyring may have changed. */
  retry: 30_000,
});

/** Of the files that publication works with; those of statements and keyrings are the engine's. */
export const SIGNING_LIMITS = Object.freeze({
  /** Bytes of a private key's file. */
  keyBytes: 4_096,
});

/** How large a query may be. */
export const QUERY_LIMITS = Object.freeze({
  conditions: 100,
  /** `and`, `or` and `not` inside one another. */
  depth: 8,
  listValues: 1000,
  propertyLevels: 4,
  pageSize: 500,
  defaultPageSize: 50,
  orderKeys: 16,
  selectFields: 100,
  /** That one answer lists. */
  errors: 32,
  /**
   * Bytes of JSON that the items of a page may have, about: a page ends before the records that would exceed it, but always has
   * some. Store and gateway hold a page several times over while they hand it on. It is room for 500 records of 16 KB.
   */
  pageBytes: 8 * 1024 * 1024,
});

/** How large a dataset's lines may be, and how they are grouped. */
export const LOAD_LIMITS = Object.freeze({
  /** Bytes of a line. */
  lineBytes: 1024 * 1024,
  /** Bytes of a record as it is shown: numbers are written out, so this can be many times the line. */
  recordBytes: 2 * 1024 * 1024,
  /** Arrays and objects inside one another, as in a request's body. */
  jsonDepth: 32,
  /**
   * Large batches are stored faster. The embedded engine does one thing at a time, so a gateway that shares it waits for a
   * batch to end: a quarter of a second there.
   */
  batches: Object.freeze({
    embedded: Object.freeze({ lines: 1_000, bytes: 4 * 1024 * 1024 }),
    external: Object.freeze({ lines: 20_000, bytes: 32 * 1024 * 1024 }),
  }),
  /** How often a batch is begun again that the store gave up for the sake of somebody else's writing. */
  retries: 5,
  /** Namespaces that are remembered as being there, and that one statement asks for. */
  knownNamespaces: 200_000,
  askedNamespaces: 10_000,
  /** Namespaces that are not there for which one is looked for that may be meant, and how many beside each are looked at. */
  guessedNamespaces: 100,
  siblings: 1_000,
  /** Records that an export reads at a time: few, since each may take two megabytes. */
  exportedRecords: 50,
  /** Templates whose compiled schemas are remembered. */
  knownTemplates: 1_000,
  /** So many records at once make it worth to tidy the store. */
  tidyFrom: 10_000,
  /** Faults that a report keeps; all of them are counted, and shown as they are found. */
  keptFaults: 1_000,
});

export const COMMAND_LIMITS = Object.freeze({
  /** Commands of one batch, and bytes of JSON that it may answer with. */
  batch: 100,
  batchAnswerBytes: 16 * 1024 * 1024,
  /** How long an answer is kept under its Idempotency-Key, in milliseconds, unless the settings say otherwise. */
  idempotency: 86_400_000,
  /** Expired answers that each new one sweeps away. */
  swept: 10,
  /** How often a command is begun again that the store gave up for another's sake, or whose record was moved meanwhile. */
  retry: 4,
  /** Templates whose compiled schemas are remembered, and characters of their schemas: each takes up to 350 bytes. */
  knownTemplates: 1_000,
  knownTemplateCharacters: 1_000_000,
  /** Slots of one process template, and resources of one process run. */
  slots: 1_000,
});

/** Of the JSON Schemas of templates, and of the values that they judge. */
export const TEMPLATE_LIMITS = Object.freeze({
  /** Characters of a schema as JSON, and schemas in it with the words that check something. */
  schemaCharacters: 256 * 1024,
  schemaParts: 2_000,
  /** A longer list of required members is compiled to a loop. */
  loopRequired: 20,
  /** Schemas that may be applied on the way to one part of a value. */
  checksPerPart: 500,
  /** Checks of a whole value: its parts times those. So many characters count as a part, and with a pattern a check counts as several. */
  checks: 10_000_000,
  charactersPerPart: 8,
  patternCost: 10,
  /** Of all patterns of a schema, with counted repetitions written out. */
  patternParts: 10_000,
  /** Arrays and objects inside one another in a value, as in a body. */
  valueDepth: 32,
  /** Faults of a value that are reported; a larger value, or one of a larger schema, is told its first one only. */
  faults: 32,
  partsWithAllFaults: 1_000,
  /** Its parts times the characters of the schema: each may be a member that is required and not there. */
  workWithAllFaults: 1_000_000,
});

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

export const CONFIG_LIMITS = Object.freeze({
  fileBytes: 1024 * 1024,
});

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
});
