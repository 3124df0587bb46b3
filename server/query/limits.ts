// How large a query may be (design 7). Sizes of the envelope's parts that the design leaves open are marked.
export const QUERY_LIMITS = Object.freeze({
  conditions: 100,
  /** `and`, `or` and `not` inside one another. */
  depth: 8,
  listValues: 1000,
  propertyLevels: 4,
  pageSize: 500,
  defaultPageSize: 50,
  /** Ours. */
  orderKeys: 16,
  /** Ours. */
  selectFields: 100,
  /**
   * Ours: characters of the namespaces of all visible sets that are remembered, each with some for what holds it, and sets
   * (visible-memory.ts). They take up to 200 MB: 700,000 namespaces of 30 characters, or 60,000 of 1,024.
   */
  rememberedCharacters: 64_000_000,
  rememberedSets: 10_000,
  /** Ours: errors that one answer tells. */
  errors: 32,
});
