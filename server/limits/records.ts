// Limits of records that are loaded and written, and of the schemas that judge them.

/** How large a dataset's lines may be, and how they are grouped. */
export const LOAD_LIMITS = Object.freeze({
  /** Bytes of a line. */
  lineBytes: 1024 * 1024,
  /** Bytes of a record as it is shown. Numbers are written out, so this can be many times the size of the line. */
  recordBytes: 2 * 1024 * 1024,
  /** Nesting of arrays and objects, as in a request's body. */
  jsonDepth: 32,
  /**
   * Large batches are stored faster. The embedded engine does one thing at a time, so a gateway that shares it waits for a
   * batch to end: a quarter of a second there.
   */
  batches: Object.freeze({
    embedded: Object.freeze({ lines: 1_000, bytes: 4 * 1024 * 1024 }),
    external: Object.freeze({ lines: 20_000, bytes: 32 * 1024 * 1024 }),
  }),
  /**
   * Milliseconds after which one statement of a load or an export has failed on an embedded store, whose disk may not
   * answer. They take less than a second there.
   */
  statementTime: 600_000,
  /**
   * The most milliseconds that looking at one text for a pattern may take, as it is estimated beforehand: no thread can be
   * ended there. It mostly takes a hundredth of that.
   */
  stepTime: 60_000,
  /** How often a batch is repeated if the store aborted it in favour of somebody else's write. */
  retries: 5,
  /** Namespaces that are remembered as existing, and that one statement asks for. */
  knownNamespaces: 200_000,
  askedNamespaces: 10_000,
  /** Ids of deleted records that a load remembers, at about 100 bytes each. */
  buriedIds: 500_000,
  /** Missing namespaces for which an existing one is suggested, and how many siblings of each are looked at. */
  guessedNamespaces: 100,
  siblings: 1_000,
  /** Records that an export reads at a time: few, since each may take two megabytes. */
  exportedRecords: 50,
  /** Templates whose compiled schemas are remembered. */
  knownTemplates: 1_000,
  /** From this many records on, tidying the store is worthwhile. */
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
  /** Expired answers that each new answer removes. */
  swept: 10,
  /**
   * How often a command is repeated if the store aborted it in favour of another, or if its record was moved in the
   * meantime.
   */
  retry: 4,
  /** Templates that are remembered, and the bytes that they may hold. */
  knownTemplates: 1_000,
  knownTemplateBytes: 64 * 1024 * 1024,
  /** Slots of one process template, and resources of one process run. */
  slots: 1_000,
});

/** Limits of the JSON Schemas of templates, and of the values that they judge. */
export const TEMPLATE_LIMITS = Object.freeze({
  /** Characters of a schema as JSON; and the number of schemas in it plus the keywords that check something. */
  schemaCharacters: 256 * 1024,
  schemaParts: 2_000,
  /** A longer list of required members is compiled to a loop. */
  loopRequired: 20,
  /** Schemas that may be applied on the way to one part of a value. */
  checksPerPart: 500,
  /**
   * Checks of a whole value: its parts times the checks per part. This many characters count as one part.
   */
  checks: 10_000_000,
  charactersPerPart: 8,
  /** Parts of all patterns of a schema, with counted repetitions written out. */
  patternParts: 10_000,
  /**
   * Ranges of characters in the classes of all patterns of a schema, written out in the same way: `\p{L}{50}` counts as
   * some 37,000.
   */
  patternRanges: 2_000_000,
  /**
   * The longest that RE2 takes for each character of a text: so many nanoseconds for each instruction of the pattern
   * and for as many more as its bookkeeping is worth.
   */
  patternNanoseconds: 100,
  patternBase: 64,
  /**
   * Milliseconds that a look for a format may take, for each character and for each class of Unicode in a regular
   * expression, which takes so many times as long in either case; and that sorting takes for each member of an object.
   */
  formatTime: Object.freeze({ character: 2e-4, unicodeClass: 0.2, folded: 20 }),
  memberTime: 2e-3,
  /** Bytes that RE2 may keep for all patterns of a schema of what it builds from texts. */
  patternCache: 128 * 1024,
  /**
   * What is judged between other requests. Everything else is judged in a thread: with a larger schema, after more
   * checks, when a pattern may look for longer, and when a request has taken that much time for judging. Milliseconds.
   */
  small: Object.freeze({
    schemaCharacters: 8 * 1024,
    schemaParts: 100,
    patternParts: 500,
    patternRanges: 35_000,
    checks: 100_000,
    time: 10,
    requestTime: 20,
  }),
  /** Milliseconds of the thread for all values of a request, and of `load` for each value; megabytes of the thread's heap. */
  threadTime: 3_000,
  threadHeap: 192,
  /** Bytes of compiled templates that the thread remembers. */
  threadBytes: 48 * 1024 * 1024,
  /**
   * The most that a compiled schema holds, in bytes: for itself, for each of its characters, for each part of its
   * patterns and for each range of those.
   */
  heldBytes: Object.freeze({ schema: 48 * 1024, character: 120, patternPart: 480, patternRange: 20 }),
  /** Nesting of arrays and objects in a value, as in a body. */
  valueDepth: 32,
  /** Faults of a value that are reported. For a larger value, or with a larger schema, only the first is reported. */
  faults: 32,
  partsWithAllFaults: 1_000,
  /** The parts of the value times the characters of the schema, because each part may lack every required member. */
  workWithAllFaults: 1_000_000,
});
