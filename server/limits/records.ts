// Of records that are loaded and written, and of the schemas that judge them.

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
