// Pages of resources as the tests of statements ask for them: a visible set, a body, a place to go on from.
import { canonicalize, type NamespacePath, type Visible } from '../../../engine/index.js';
import type { Fragment } from '../../../server/db/sql.js';
import { keyOrder } from '../../../server/query/key-order.js';
import type { SortPosition } from '../../../server/query/order.js';
import { pageStatement } from '../../../server/query/page-statement.js';
import { parseQuery } from '../../support/parse-query.js';
import { rowPredicate } from '../../../server/query/row-predicate.js';
import type { Json } from './oracle/evaluate.js';

export function path(text: string): NamespacePath {
  const result = canonicalize(text);
  if (!result.ok) throw new Error(`not a path: ${text}`);
  return result.path;
}

export function some(exact: readonly string[], subtrees: readonly string[]): Visible {
  return { kind: 'some', exact: exact.map(path), subtrees: subtrees.map(path) };
}

export interface Asked {
  readonly visible: Visible;
  readonly body?: Json;
  readonly after?: SortPosition;
  /** Where an index has the order it is merged unless given. */
  readonly shape?: 'gather';
  readonly isPartitioned?: boolean;
}

export function page({ visible, body = {}, after, shape, isPartitioned = false }: Asked): Fragment {
  const plan = parseQuery({ family: 'resource', namespace: '/', ...body }, 'query');
  const order = shape === 'gather' ? null : keyOrder(plan.orderBy, plan.family);
  return pageStatement({ predicate: rowPredicate(visible), plan, after: after ?? null, order, isPartitioned });
}
