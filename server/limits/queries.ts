// Limits of queries: how large one may be, and what is remembered for actors who come back.

/** How large a query may be. */
export const QUERY_LIMITS = Object.freeze({
  conditions: 100,
  /** Nesting of `and`, `or` and `not`. */
  depth: 8,
  listValues: 1000,
  /** Of an operand of `containsIgnoreCase`: each different letter makes the look at each stored character longer. */
  foldedCharacters: 100,
  propertyLevels: 4,
  pageSize: 500,
  defaultPageSize: 50,
  orderKeys: 16,
  selectFields: 100,
  /** Different records that the records of a page may name by one included reference. */
  included: 1_000,
  /** Groups and values of an aggregate. */
  groups: 1_000,
  groupValues: 10,
  /** Errors that one answer lists. */
  errors: 32,
  /**
   * Bytes of JSON that the items of a page may have, approximately. A page ends before the records that would exceed
   * it, but always has some. Store and gateway hold a page several times over while they pass it on. It is room for 500
   * records of 16 KB.
   */
  pageBytes: 8 * 1024 * 1024,
});

/**
 * What is remembered about queries for actors who come back, in characters. Together this is about 200 MB at most: a
 * character takes two to three bytes in this process, and about 200 in the server for each statement that a connection
 * has prepared.
 */
export const MEMORY_LIMITS = Object.freeze({
  /**
   * Namespaces of visible sets, each with an overhead: 700,000 of 30 characters, or 60,000 of 1,024. And the number of
   * sets.
   */
  visibleSets: 64_000_000,
  visibleSetCount: 10_000,
  /**
   * Statements of pages and counts with their bindings; and the size of one. A larger one takes the store so long that
   * writing it hardly matters.
   */
  pageStatements: 8_000_000,
  pageStatement: 16_000,
  /** Texts that have a name, and texts that one connection has prepared; and the size of one. */
  preparedTexts: 160_000,
  preparedText: 40_000,
  /** Texts without a name that are watched, because they may be used again. */
  watchedTexts: 256,
  /** Characters of values that may be sent again for each of their places in a prepared text. */
  repeatedValues: 100_000,
});
