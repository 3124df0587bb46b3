// The repair of `separate`: grants that conflict in pairs, and an inclusion-minimal set of them that leaves no pair.
import type { Broken, Prohibition } from './guardrail-regions.js';
import { type Holding, holdingsNear, subtreeRows } from './holdings.js';
import type { World } from './witness.js';

/** Rows of grants, sorted. Grants that conflict with few others are kept, so that the set is small. */
export function separationRepair(world: World, prohibition: Prohibition, broken: readonly Broken[]): readonly number[] {
  const together = principalsTogether(broken);
  const candidates = new Map<number, Holding>();
  for (const { holdings } of broken) for (const holding of holdings) candidates.set(holding.grant, holding);

  const principalOf = world.policy.tables.grants.principal;
  const conflictsOf = (holding: Holding): readonly number[] => {
    const { row, inherit } = holding;
    const rows = inherit ? subtreeRows(world.nodes, row) : { from: row, until: row + 1 };
    const partners = together.get(principalOf[holding.grant] ?? 0) ?? [];
    return holdingsNear(world.rights, partners, rows)
      .filter((other) => other.grant !== holding.grant && candidates.has(other.grant) && conflict(prohibition, holding, other))
      .map((other) => other.grant);
  };

  const removed: number[] = [];
  // How many, not which: where everything conflicts with everything the lists would be the square of the policy.
  const rest: { readonly holding: Holding; readonly conflicts: number }[] = [];
  for (const [grant, holding] of candidates) {
    if (prohibition.broken(holding.scopes) !== 0) removed.push(grant);
    else rest.push({ holding, conflicts: conflictsOf(holding).length });
  }
  rest.sort((a, b) => a.conflicts - b.conflicts || a.holding.grant - b.holding.grant);
  const kept = new Set<number>();
  for (const { holding } of rest) {
    if (conflictsOf(holding).some((other) => kept.has(other))) removed.push(holding.grant);
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
