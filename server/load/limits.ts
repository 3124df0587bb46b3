// How large a dataset's lines may be, and how they are grouped.

/** A batch, which is one transaction, is full with either. */
export interface BatchSize {
  readonly lines: number;
  readonly bytes: number;
}

const MEBIBYTE = 1024 * 1024;

export const LOAD_LIMITS = Object.freeze({
  /** Bytes of a line. */
  lineBytes: MEBIBYTE,
  /** Bytes of a record as it is shown: numbers are written out, so this can be many times the line. */
  recordBytes: 2 * MEBIBYTE,
  /** Arrays and objects inside one another, as in a request's body. */
  jsonDepth: 32,
  /**
   * Large batches are stored faster. The embedded engine does one thing at a time, so a gateway that shares it waits for a
   * batch to end: a quarter of a second there.
   */
  batches: Object.freeze({
    embedded: Object.freeze({ lines: 1_000, bytes: 4 * MEBIBYTE }),
    external: Object.freeze({ lines: 20_000, bytes: 32 * MEBIBYTE }),
  }),
  /** Namespaces that are remembered as being there. */
  knownNamespaces: 200_000,
  /** Templates whose compiled schemas are remembered. */
  knownTemplates: 1_000,
  /** So many records at once make it worth to tidy the store. */
  tidyFrom: 10_000,
  /** Faults that a report keeps; all of them are counted and told as they are found. */
  keptFaults: 1_000,
});
