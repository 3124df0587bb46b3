// What to remove so that all violated guardrails hold. Each guardrail by itself may blame another of two grants; together, the one that
// more of them blame is enough.
import type { PreparedPolicy } from '../../evaluate/prepare.js';

/**
 * The sorted rows of grants without which all of these hold. `repairs` are those of each by itself; `hold` tells whether all of them
 * hold for a policy. If trying takes more than `steps`, nothing is put back: all that they blame is removed.
 */
export function commonRepair(
  policy: PreparedPolicy,
  repairs: readonly (readonly number[])[],
  { hold, steps }: { readonly hold: (policy: PreparedPolicy) => boolean; readonly steps: number },
): readonly number[] {
  const blamed = new Map<number, number>();
  for (const grant of repairs.flat()) blamed.set(grant, (blamed.get(grant) ?? 0) + 1);
  const removed = new Set(blamed.keys());
  const entries = policy.tables.grants.id.length + policy.tables.members.role.length;
  if (blamed.size * repairs.length * entries <= steps) {
    for (const [grant] of [...blamed].sort(([a, few], [b, many]) => few - many || b - a)) {
      removed.delete(grant);
      if (!hold(without(policy, removed))) removed.add(grant);
    }
  }
  return [...removed].sort((a, b) => a - b);
}

/** The policy as if these grants were never in force. */
function without(policy: PreparedPolicy, removed: ReadonlySet<number>): PreparedPolicy {
  const { tables } = policy;
  const expires = tables.grants.expires.map((instant, grant) => (removed.has(grant) ? -Infinity : instant));
  return { ...policy, tables: { ...tables, grants: { ...tables.grants, expires } } };
}
