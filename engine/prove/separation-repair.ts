// The repair of `separate`: grants that conflict in pairs, and an inclusion-minimal set of them that leaves no pair.
import type { Broken, Prohibition } from './guardrail-regions.js';
import { firstAt, type Holding, holdingsNear, subtreeRows } from './holdings.js';
import { rowsAbove } from './nodes.js';
import type { World } from './witness.js';

const NOBODY: ReadonlySet<number> = new Set();
/** What looking up the grants of one principal takes, in grants looked at. */
const LOOKUP_COST = 16;

/** Rows of grants, sorted. Grants that conflict with few others are kept, so that the set is small. */
export function separationRepair(world: World, prohibition: Prohibition, broken: readonly Broken[]): readonly number[] {
  const together = principalsTogether(broken);
  const candidates = new Map<number, Holding>();
  for (const { holdings } of broken) for (const holding of holdings) candidates.set(holding.grant, holding);

  const principalOf = world.policy.tables.grants.principal;
  const byNode = [...candidates.values()].sort((a, b) => a.row - b.row || a.grant - b.grant);
  /** How many conflict with this one among those that `counts` accepts, no further than `most`. */
  const countConflicts = (holding: Holding, counts: (grant: number) => boolean, most: number): number => {
    const partners = together.get(principalOf[holding.grant] ?? 0) ?? NOBODY;
    let count = 0;
    const visit = (other: Holding): boolean => {
      const conflicts = other.grant !== holding.grant && conflict(prohibition, holding, other);
      if (
        conflicts &&
        candidates.has(other.grant) &&
        partners.has(principalOf[other.grant] ?? 0) &&
        counts(other.grant)
      )
        count += 1;
      return count < most;
    };
    const { row, inherit } = holding;
    const rows = inherit ? subtreeRows(world.nodes, row) : { from: row, until: row + 1 };
    const [first, last] = [firstAt(byNode, rows.from), firstAt(byNode, rows.until)];
    // Looked for where it counts, or among who can be concerned, whichever are fewer.
    if (last - first > partners.size * LOOKUP_COST) {
      holdingsNear(world.rights, partners, rows).every(visit);
      return count;
    }
    for (const above of rowsAbove(world.nodes, row)) {
      for (let i = firstAt(byNode, above), other = byNode[i]; other?.row === above; i += 1, other = byNode[i]) {
        if (other.inherit && !visit(other)) return count;
      }
    }
    for (let i = first; i < last; i += 1) {
      const other = byNode[i];
      if (other !== undefined && !visit(other)) return count;
    }
    return count;
  };

  const removed: number[] = [];
  // How many, not which: where everything conflicts with everything the lists would be the square of the policy.
  const rest: { readonly holding: Holding; readonly conflicts: number }[] = [];
  for (const [grant, holding] of candidates) {
    if (prohibition.broken(holding.scopes) !== 0) removed.push(grant);
    else rest.push({ holding, conflicts: countConflicts(holding, () => true, Infinity) });
  }
  rest.sort((a, b) => a.conflicts - b.conflicts || a.holding.grant - b.holding.grant);
  const kept = new Set<number>();
  for (const { holding } of rest) {
    if (countConflicts(holding, (other) => kept.has(other), 1) > 0) removed.push(holding.grant);
    else kept.add(holding.grant);
  }
  return removed.sort((a, b) => a - b);
}

/** For each principal those, itself included, whose grants some identity holds beside its own. */
function principalsTogether(broken: readonly Broken[]): ReadonlyMap<number, ReadonlySet<number>> {
  const together = new Map<number, Set<number>>();
  for (const { group } of broken) {
    for (const principal of group.principals) {
      const partners = together.get(principal) ?? new Set<number>();
      together.set(principal, partners);
      for (const other of group.principals) partners.add(other);
    }
  }
  return together;
}

/** Whether two grants that count in one place break the rule there at some time. */
function conflict(prohibition: Prohibition, a: Holding, b: Holding): boolean {
  return a.from < b.until && b.from < a.until && prohibition.broken(a.scopes | b.scopes) !== 0;
}
