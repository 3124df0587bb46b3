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
  /** Sockets open at once. */
  connections: 4096,
  requestsPerSocket: 100_000,
  /** Milliseconds. */
  headersTimeout: 8_000,
  requestTimeout: 15_000,
  keepAliveTimeout: 65_000,
  /** How often Node looks for sockets past a timeout. */
  timeoutCheckInterval: 1_000,
  /** How long a socket may be idle before it is closed. */
  idleSocketTimeout: 75_000,
  /** How often unread answers are checked. If the client took nothing between two checks, the connection ends. */
  writeTimeout: 10_000,
  /** How much of a refused body is read, and for how long, so that the client can read its answer. */
  discardBytes: 4 * 1024 * 1024,
  discardTimeout: 2_000,
  /**
   * How long a shutdown waits for requests in flight, unless the settings say otherwise, and for clients that have
   * connected but sent nothing.
   */
  drainTimeout: 20_000,
  drainSilence: 1_000,
});

export const SHARE_LIMITS = Object.freeze({
  /** Requests of one actor that may wait for its other requests. One more is refused at once. */
  waiting: 256,
  /** How long each waits, in milliseconds. */
  patience: 5_000,
  /**
   * Bytes of answers that are made but not read: for one connection, for one actor (or address, if nobody is
   * authenticated), and for all.
   */
  connectionUnreadBytes: 16 * 1024 * 1024,
  unreadBytes: 32 * 1024 * 1024,
  totalUnreadBytes: 256 * 1024 * 1024,
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
});
