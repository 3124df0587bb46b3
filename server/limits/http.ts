// Limits of the HTTP listeners: requests, sockets, shares of one actor, rates, health, TLS.

export const HTTP_LIMITS = Object.freeze({
  /** Bytes of a request body, in addition to the cursor that it may carry. */
  bodyBytes: 1024 * 1024,
  /**
   * Characters of a cursor, enough for every `next` to be sent back. A place holds texts of one record, which is no
   * larger than a line of a dataset (1 MiB; other writers of records have the same limit). What is not in the line
   * (numbers written out, instants, the lengths) is below 1 KiB for each of 16 sort keys and the id. Sealing adds 29
   * bytes, base64 a third: (1,048,576 + 17 * 1,024 + 29) * 4 / 3 = 1,421,351, and the rest is reserve.
   */
  cursorCharacters: 1536 * 1024,
  /**
   * Bytes that a body with a cursor may have in addition to `bodyBytes` and the cursor: the key `page` with its
   * `after`, and white space.
   */
  cursorMemberBytes: 1024,
  idempotencyKeyCharacters: 255,
  /** Characters of an `X-Request-ID` that is echoed to clients of AuthZEN. */
  echoedIdCharacters: 1024,
  /** Nesting of arrays and objects in a body. */
  jsonDepth: 32,
  /** Characters of the request target; a namespace is at most 1,024. */
  targetCharacters: 4096,
  loggedPathCharacters: 256,
  /** Characters of a key in a pointer of an answer. */
  pointerKeyCharacters: 64,
  /** Bytes of all request headers, and how many of them. */
  headerBytes: 16 * 1024,
  headers: 100,
  /** Characters of an `Authorization` value that are looked at. */
  credentialCharacters: 8192,
  /**
   * Connections open at once, and those of one address on which no valid credential has come. The settings may say
   * otherwise.
   */
  connections: 4096,
  connectionsOfAddress: 256,
  requestsPerSocket: 100_000,
  /** Milliseconds. */
  headersTimeout: 8_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 65_000,
  /** How often Node looks for sockets past a timeout. */
  timeoutCheckInterval: 1_000,
  /** How long a socket may be idle before it is closed. */
  idleSocketTimeout: 75_000,
  /** Requests of one connection that may wait for the answers to earlier ones. With one more the connection ends. */
  pipelined: 256,
  /** Characters of the heads of those. */
  pipelinedCharacters: 256 * 1024,
  /**
   * Bytes of all connections together for what waits so: heads, bodies as far as Node reads them (so much at most), and
   * what each request takes besides. Beyond that the slowest connections end.
   */
  pipelinedBytes: 64 * 1024 * 1024,
  pipelinedBody: 128 * 1024,
  pipelinedOverhead: 4 * 1024,
  /** How often unread answers are checked. */
  writeTimeout: 10_000,
  /** Bytes a second that a client must take of its answer between two checks, unless it takes all the rest. */
  slowestReader: 8 * 1024,
  /** Larger answers are handed over in pieces of this many bytes. */
  pieceBytes: 32 * 1024,
  /** How much of a refused body is read, and for how long, so that the client can read its answer. */
  discardBytes: 4 * 1024 * 1024,
  discardTimeout: 2_000,
  /**
   * How long a shutdown waits for requests in flight, unless the settings say otherwise, and for clients that have
   * connected but sent nothing.
   */
  drainTimeout: 20_000,
  drainSilence: 1_000,
  /** How long a shutdown may take after that. Each thing that it waits for has its time, but not one after the other. */
  closeTimeout: 26_000,
});

/** Of questions about others. */
export const ASK_LIMITS = Object.freeze({
  /** Questions of one request. */
  questions: 1_000,
  /** Evaluations of one AuthZEN request. */
  evaluations: 100,
  /** Faults that one refusal lists. */
  errors: 20,
  /** Bytes of JSON of the results of one request. */
  answerBytes: 16 * 1024 * 1024,
  /** Entries of a page of identities, regions or namespaces. */
  pageSize: 500,
  defaultPageSize: 50,
  /** Bytes of JSON that they may have. A page ends before the entries that would exceed it, but always has some. */
  pageBytes: 8 * 1024 * 1024,
  /** Milliseconds for which the token of a next page is good. */
  pageAge: 15 * 60_000,
});

export const SHARE_LIMITS = Object.freeze({
  /** Requests of one actor that may wait for its other requests. One more is refused at once. */
  waiting: 256,
  /** How long each waits, in milliseconds. */
  patience: 5_000,
  /**
   * Bytes of answers that are made but not read: of one actor; and of all actors, all admins, all who read without a
   * credential and all strangers, each of these by themselves. Monitoring and the socket have as much as admins, each.
   */
  unreadBytes: 32 * 1024 * 1024,
  actorsUnreadBytes: 256 * 1024 * 1024,
  adminsUnreadBytes: 64 * 1024 * 1024,
  anonymousUnreadBytes: 64 * 1024 * 1024,
  strangersUnreadBytes: 32 * 1024 * 1024,
  /** Bytes of bodies that those who read without a credential have sent, until they are answered. */
  anonymousBodyBytes: 64 * 1024 * 1024,
  /** Seconds that a refused client is told to wait. */
  retryAfter: 1,
});

export const RATE_LIMITS = Object.freeze({
  /** Addresses or actors that are counted at once. The one that has been quiet longest is dropped first. */
  buckets: 10_000,
});

export const HEALTH_LIMITS = Object.freeze({
  /** How long an answer of the store is used, and how long to wait for one, in milliseconds. */
  interval: 1_000,
  patience: 2_000,
});

export const TLS_LIMITS = Object.freeze({
  /** Bytes of a file of certificates or of a key. */
  fileBytes: 1024 * 1024,
  /** How often the files are checked, in milliseconds. */
  pollInterval: 10_000,
  /** How long a TLS handshake may take, in milliseconds. */
  handshakeTimeout: 8_000,
});

/** Limits of the operating systems that this program runs on. */
export const SYSTEM_LIMITS = Object.freeze({
  /** Bytes of the path of a Unix socket. With the zero byte at the end that is 104, which every system accepts. */
  socketPathBytes: 103,
  /** How long a process that replaces a dead socket waits for others that do the same, in milliseconds. */
  socketSettles: 100,
});
