// Limits of the processes of one gateway.

/** Limits of the workers of a gateway. Times are in milliseconds. */
export const WORKER_LIMITS = Object.freeze({
  /** How long an audit event waits for others, so that they are handed over together. */
  eventDelay: 10,
  /** Bytes of events after which no more go into the same message, and after which the others wait for the disk. */
  eventBytes: 1024 * 1024,
  eventBytesUnderWay: 4 * 1024 * 1024,
  /** If the primary has not taken over events for this long, it counts as keeping no log. */
  silence: 1_000,
  /** How often processes tell one another what has changed. */
  exchange: 100,
  /** How often a worker says that it runs, and the primary looks who has said nothing since. */
  sign: 1_000,
  /**
   * After how many looks at a worker that says nothing it counts as not answering, and is killed. Threads open policies, so
   * even one of 1,000,000 grants delays a worker by less than a tenth of a second. The rest is for machines that are short of
   * processors or memory. The primary counts its own looks and not time: if it was paused, it has not looked.
   */
  looks: Object.freeze({ quiet: 5, killed: 30 }),
  /**
   * The pause before a dead worker is replaced. It doubles each time, until a worker has lived for `stable`
   * milliseconds.
   */
  pause: 100,
  longestPause: 10_000,
  stable: 30_000,
  /** How long a start may take, and how many starts of each worker may fail in a row before the gateway ends. */
  startTimeout: 60_000,
  starts: 5,
  /** How long a worker may take to end, in addition to the time for its requests. */
  closeTimeout: 10_000,
});
