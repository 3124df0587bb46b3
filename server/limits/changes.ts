// Limits of the feed of changes: what one answer holds, what is kept, and streams.

export const CHANGES_LIMITS = Object.freeze({
  /** Changes of one answer. */
  size: 500,
  defaultSize: 100,
  /** Characters of a cursor. All have as many. */
  cursorCharacters: 114,
  /** Regions of one `rights` item. If more have changed, the reader starts again. */
  regions: 10_000,
  /** Characters of a visible set that is kept so that its reader learns how its rights have changed. */
  viewCharacters: 4 * 1024 * 1024,
  /**
   * What is remembered for readers who come back, in characters of namespaces, each with an overhead (340,000 of 30
   * characters), and of changes of rights.
   */
  rememberedViews: 32_000_000,
  rememberedRights: 8_000_000,
  /** Visible sets that a process remembers as kept, or as too large for that, and how often it says that one is in use, in milliseconds. */
  knownViews: 10_000,
  viewInterval: 3_600_000,
  /** How long cursors are good, and how many changes are kept at most, unless the settings say otherwise. */
  keep: 604_800_000,
  rows: 1_000_000,
  /** How much longer than cursors are good the changes after them are kept, in milliseconds. */
  slack: 3_600_000,
  /** Changes that get their positions in one transaction, and that one step removes. */
  numbered: 2_000,
  removed: 1_000,
  /** Milliseconds between looks for what others have changed: while somebody follows the feed, and otherwise. */
  look: 1_000,
  idleLook: 5_000,
  /** Milliseconds between looks for what is to be removed. */
  removal: 60_000,
  /** Removed rows after which the embedded store is tidied. */
  removedBeforeTidying: 20_000,
});

/** Of answers that do not end (`Accept: text/event-stream`). Times are in milliseconds. */
export const STREAM_LIMITS = Object.freeze({
  /** Streams of one actor, of all who bring no credential, and of a process. */
  perActor: 8,
  anonymous: 64,
  total: 512,
  /**
   * After how long a stream that has sent nothing shows that it lives, and moves the place at which its client would go
   * on. It is looked at only with each check, and has to be shown within 15 seconds (docs/feed.md).
   */
  heartbeat: 13_000,
  /** How often its credential, its policy and the clock are checked. */
  check: 1_000,
  /** The least time between two reads of one stream. */
  distance: 50,
  /** Streams that read at once, each of another actor. */
  readers: 4,
  /** How soon a client should come back, unless the problem that ends its stream says so. */
  retry: 3_000,
});
