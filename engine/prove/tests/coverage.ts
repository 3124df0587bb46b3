// Which grants the tests of a policy cover (`test --coverage`). A grant is covered if it carries, alone or together with others, an
// access that some test expects and gets. It is pinned if it carries such an access alone, so that a test would notice its loss.
import type { GrantRef } from '../../model/decision.js';
import { compareTexts } from '../../model/order.js';
import type { PolicySet } from '../../model/policy-set.js';
import { toGrantRef } from './nearest-miss.js';
import type { PolicyTestReport } from './policy-tests.js';

export interface GrantCoverage {
  readonly total: number;
  readonly covered: number;
  readonly pinned: number;
  /** Sorted by id. */
  readonly uncovered: readonly GrantRef[];
}

/** Computes the coverage of the tests that were run. */
export function coverGrants(set: PolicySet, { carriers }: Pick<PolicyTestReport, 'carriers'>): GrantCoverage {
  const covered = new Set<string>();
  const pinned = new Set<string>();
  for (const grants of carriers) {
    for (const { id } of grants) covered.add(id);
    const [only, second] = grants;
    if (only !== undefined && second === undefined) pinned.add(only.id);
  }
  const uncovered = set.grants.filter((grant) => !covered.has(grant.id)).map(toGrantRef);
  return {
    total: set.grants.length,
    covered: covered.size,
    pinned: pinned.size,
    uncovered: uncovered.sort((a, b) => compareTexts(a.id, b.id)),
  };
}

/** The share of covered grants, in percent; 100 for a policy without grants. */
export function coveredPercent({ total, covered }: GrantCoverage): number {
  return total === 0 ? 100 : (100 * covered) / total;
}
