// Of the processes of one gateway.

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
  /** How long a start may take, and how many in a row may fail of each worker before the gateway ends. */
  startTimeout: 60_000,
  starts: 5,
  /** How long a worker may take to end, beyond what its requests have. */
  closeTimeout: 10_000,
});
