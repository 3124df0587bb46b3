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
  /** Ours: errors that one answer tells. */
  errors: 32,
});
