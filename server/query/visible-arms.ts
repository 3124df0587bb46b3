// The roots of a visible set by the kind of index range that each of them is. An arm is a table of roots and the condition on
// a record by which it lies within one: as many ranges as roots, and in each nothing but visible records.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { ancestorKey, KEYED_LEVELS, rootKeys } from './ancestor-keys.js';
import { visibleRoots, type RowPredicate } from './row-predicate.js';

export interface Arm {
  /** A table `v (at)`: the namespaces or the keys, as the index has them. */
  readonly roots: Fragment;
  /** How many roots, or about as many. */
  readonly size: number;
  /** Whether it is the store that lists them. */
  readonly counted: boolean;
  /** Of a record called `r` and a root `v.at`. */
  readonly within: Fragment;
}

export interface ArmsRequest {
  readonly predicate: RowPredicate;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/** Namespaces that a deep root is taken to have below it. */
const BELOW = 8;

/** Never none. */
export function visibleArms(request: ArmsRequest): readonly Arm[] {
  const { exact, subtrees } = visibleRoots(request.predicate);
  const arms: Arm[] = [];
  const add = (roots: readonly string[], within: Fragment): unknown =>
    arms.push({ roots: listed(roots), size: roots.length, counted: false, within });
  if (exact.length > 0) add(exact, inNamespace(request));
  const deep: string[] = [];
  for (const [level, roots] of subtrees) {
    if (level > KEYED_LEVELS) deep.push(...roots);
    else add(rootKeys(roots, request), inSubtree(level));
  }
  if (deep.length > 0) {
    const size = deep.length * BELOW;
    arms.push({ roots: namespacesBelow(deep, request), size, counted: true, within: inNamespace(request) });
  }
  return arms;
}

function listed(roots: readonly string[]): Fragment {
  return sql`unnest(${roots}::text[]) AS v (at)`;
}

/** The namespaces of subtrees that have no keys, as far as they have records: those that are counted. */
function namespacesBelow(roots: readonly string[], { family }: ArmsRequest): Fragment {
  return sql`(SELECT c.path AS at FROM unnest(${roots}::text[]) AS d (at) CROSS JOIN LATERAL (
      SELECT DISTINCT c.path FROM record_counts AS c WHERE c.family = ${familyCode(family)}::smallint
        AND c.path >= d.at AND c.path < left(d.at, -1) || '0' OFFSET 0) AS c) AS v`;
}

function inNamespace({ family, includeArchived }: ArmsRequest): Fragment {
  const active = includeArchived ? sql`` : sql` AND r.archived_at IS NULL`;
  return sql`r.family = ${familyCode(family)}::smallint AND r.path = v.at${active}`;
}

/** Nothing but what the index has: the planner would take two conditions that say one thing for much rarer than it is. */
function inSubtree(level: number): Fragment {
  const { key, exists } = ancestorKey(level);
  return sql`${exists} AND ${key} = v.at`;
}
