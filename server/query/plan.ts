// A valid query, from which the statements are built. Only parse-query.ts makes one.
import type { Family, NamespacePath, Reach } from '../../engine/index.js';
import type { QueryCondition } from './condition.js';
import type { Field } from './fields.js';
import type { Include } from './includes.js';
import type { Projection } from './projection.js';

export type Direction = 'asc' | 'desc';

export interface SortKey {
  readonly field: Field;
  readonly direction: Direction;
}

interface Page {
  /** 0 to 500. */
  readonly size: number;
  /** A cursor, as the client sent it. */
  readonly after: string | null;
}

/** What an aggregate gives of each group. */
export type AggregateValue =
  { readonly kind: 'count' } | { readonly kind: 'min' | 'max' | 'sum'; readonly field: Field };

export interface AggregatePlan extends Pick<QueryPlan, 'family' | 'namespace' | 'reach' | 'where' | 'includeArchived'> {
  /** Null makes one group of all records. */
  readonly groupBy: Field | null;
  readonly values: readonly AggregateValue[];
}

export interface QueryPlan {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly reach: Reach;
  readonly where: QueryCondition;
  readonly orderBy: readonly SortKey[];
  /** Null selects the whole record. */
  readonly select: Projection | null;
  readonly page: Page;
  /** References whose records come with the page. */
  readonly includes: readonly Include[];
  readonly includeArchived: boolean;
  /**
   * Identifies everything that decides which records come in which order. It leaves out page size, `select` and
   * `includes`, which may change between pages.
   */
  readonly digest: string;
}
