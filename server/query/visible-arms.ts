// The roots of a visible set, grouped by the kind of index range that they are. An arm is a table of roots, with the
// condition that a record lies within one of them. So there are as many ranges as roots, and each range holds only
// visible records.
import type { Family } from '../../engine/index.js';
import { sql, type Fragment } from '../db/sql.js';
import { familyCode } from '../db/tables.js';
import { ancestorKey, KEYED_LEVELS, rootKeys } from './ancestor-keys.js';
import { visibleRoots, type RowPredicate } from './row-predicate.js';

export interface Arm {
  /** A table `v (at)`: the namespaces or the keys, as the index has them. */
  readonly roots: Fragment;
  /** The number of roots, or an estimate of it. */
  readonly size: number;
  /** Whether the store lists the roots, so that `size` is an estimate. */
  readonly counted: boolean;
  /** The condition that a record called `r` lies within a root `v.at`. */
  readonly within: Fragment;
  /** The condition that a record called `r` lies within any of the roots, if one range of an index can say so. */
  readonly among: Fragment | null;
}

export interface ArmsRequest {
  readonly predicate: RowPredicate;
  /** Whether the key of a subtree, which does not name its partition, comes with the range of paths, which does. */
  readonly isPartitioned?: boolean;
  readonly family: Family;
  readonly includeArchived: boolean;
}

/** The number of namespaces that a deep root is assumed to have below it. */
const BELOW = 8;

/** Never empty. */
export function visibleArms(request: ArmsRequest): readonly Arm[] {
  const { exact, subtrees } = visibleRoots(request.predicate);
  const arms: Arm[] = [];
  const add = (roots: readonly string[], within: Fragment, among: Fragment | null): unknown =>
    arms.push({ roots: listed(roots), size: roots.length, counted: false, within, among });
  if (exact.length > 0) add(exact, inNamespace(request), null);
  const deep: string[] = [];
  for (const [level, roots] of subtrees) {
    if (level > KEYED_LEVELS) for (const root of roots) deep.push(root);
    else {
      const keys = rootKeys(roots, request);
      const where = request.isPartitioned === true && level > 0 ? IN_PARTITION : sql``;
      add(keys, sql`${inSubtree(level, sql`v.at`)}${where}`, inSubtree(level, sql`ANY(${keys}::text[])`));
    }
  }
  if (deep.length > 0) {
    const size = deep.length * BELOW;
    arms.push({
      roots: namespacesBelow(deep, request),
      size,
      counted: true,
      within: inNamespace(request),
      among: null,
    });
  }
  return arms;
}

function listed(roots: readonly string[]): Fragment {
  return sql`unnest(${roots}::text[]) AS v (at)`;
}

/**
 * The namespaces in subtrees that have no keys. Only namespaces with records are listed, because only they have
 * counters. `DISTINCT ON` walks the counters in their order, where `DISTINCT` may build a hash table for each root.
 */
function namespacesBelow(roots: readonly string[], { family }: ArmsRequest): Fragment {
  return sql`(SELECT c.path AS at FROM unnest(${roots}::text[]) AS d (at) CROSS JOIN LATERAL (
      SELECT DISTINCT ON (c.path) c.path FROM record_counts AS c WHERE c.family = ${familyCode(family)}::smallint
        AND c.path >= d.at AND c.path < left(d.at, -1) || '0' OFFSET 0) AS c) AS v`;
}

function inNamespace({ family, includeArchived }: ArmsRequest): Fragment {
  const active = includeArchived ? sql`` : sql` AND r.archived_at IS NULL`;
  return sql`r.family = ${familyCode(family)}::smallint AND r.path = v.at${active}`;
}

/** The range of paths of a key. No other partition is executed (server/query/README.md "Partitions"). */
const IN_PARTITION = sql` AND r.path >= substr(v.at, strpos(v.at, '/')) AND r.path < substr(left(v.at, -1), strpos(v.at, '/')) || '0'`;

/**
 * Holds only what the index has. Given two conditions that say the same, the planner would expect far fewer rows than
 * there are.
 */
function inSubtree(level: number, root: Fragment): Fragment {
  const { key, exists } = ancestorKey(level);
  return sql`${exists} AND ${key} = ${root}`;
}
