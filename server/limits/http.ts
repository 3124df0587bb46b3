// What the HTTP listeners take from clients, wait for and hold: requests, sockets, shares of one actor, rates, health, TLS.

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
