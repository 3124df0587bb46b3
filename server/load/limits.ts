// How large a dataset's lines may be, and how they are grouped.
export const LOAD_LIMITS = Object.freeze({
  /** Bytes of a line. */
  lineBytes: 1024 * 1024,
  /** Arrays and objects inside one another, as in a request's body. */
  jsonDepth: 32,
  /** Lines of a batch, which is one transaction. */
  batchLines: 500,
  batchBytes: 8 * 1024 * 1024,
  /** Namespaces that are remembered as being there. */
  knownNamespaces: 200_000,
  /** Faults that a report keeps; all of them are counted and told as they are found. */
  keptFaults: 1_000,
});
