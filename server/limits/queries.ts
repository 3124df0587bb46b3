// Of queries: how large one may be, and what is remembered for actors who come again.

/** How large a query may be. */
export const QUERY_LIMITS = Object.freeze({
  conditions: 100,
  /** `and`, `or` and `not` inside one another. */
  depth: 8,
  listValues: 1000,
  propertyLevels: 4,
  pageSize: 500,
  defaultPageSize: 50,
  orderKeys: 16,
  selectFields: 100,
  /** That one answer lists. */
  errors: 32,
  /**
   * Bytes of JSON that the items of a page may have, about: a page ends before the records that would exceed it, but always has
   * some. Store and gateway hold a page several times over while they hand it on. It is room for 500 records of 16 KB.
   */
  pageBytes: 8 * 1024 * 1024,
});

/**
 * What is remembered of queries for actors who come again, in characters, together about 200 MB at most: it takes two to three bytes a
 * character in this process, and the server takes about 200 for each that a connection has prepared.
 */
export const MEMORY_LIMITS = Object.freeze({
  /** Namespaces of visible sets, each with some for what holds it: 700,000 of 30 characters, or 60,000 of 1,024. And sets. */
  visibleSets: 64_000_000,
  visibleSetCount: 10_000,
  /** Statements of pages and counts with what they bind; and one: a larger one takes the store so long that writing it is nothing. */
  pageStatements: 8_000_000,
  pageStatement: 16_000,
  /** Texts that have a name, and what a connection has prepared; and one. */
  preparedTexts: 160_000,
  preparedText: 40_000,
  /** Texts without a name whose coming back is watched for. */
  watchedTexts: 256,
  /** Of values, that may be sent again for each place of a prepared text where they stand. */
  repeatedValues: 100_000,
});
