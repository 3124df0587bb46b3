// A query that has been read and found right: what the statements are built from. Made by `parseQuery` alone.
import type { Family, NamespacePath, Reach } from '../../engine/index.js';
import type { Condition } from './condition.js';
import type { Field } from './fields.js';
import type { Projection } from './projection.js';

export type Direction = 'asc' | 'desc';

export interface SortKey {
  readonly field: Field;
  readonly direction: Direction;
}

export interface Page {
  /** 0 to 500. */
  readonly size: number;
  /** A cursor, as the client sent it. */
  readonly after: string | null;
}

export interface QueryPlan {
  readonly family: Family;
  readonly namespace: NamespacePath;
  readonly reach: Reach;
  readonly where: Condition;
  readonly orderBy: readonly SortKey[];
  /** Null: the whole record. */
  readonly select: Projection | null;
  readonly page: Page;
  readonly includeArchived: boolean;
  /** Names everything that decides which records come in which order; page size and `select` may change between pages. */
  readonly digest: string;
}
