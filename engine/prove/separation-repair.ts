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
  /** Those that count somewhere where this one counts: looked for among who can be concerned, or where it counts. */
  const near = (holding: Holding, partners: ReadonlySet<number>): readonly Holding[] => {
    const { row, inherit } = holding;
    const rows = inherit ? subtreeRows(world.nodes, row) : { from: row, until: row + 1 };
    const [first, last] = [firstAt(byNode, rows.from), firstAt(byNode, rows.until)];
    if (last - first > partners.size * LOOKUP_COST) return holdingsNear(world.rights, partners, rows);
    const above = rowsAbove(world.nodes, row).flatMap((up) => byNode.slice(firstAt(byNode, up), firstAt(byNode, up + 1)));
    return [...above.filter((other) => other.inherit), ...byNode.slice(first, last)];
  };
  const conflictsOf = (holding: Holding): readonly number[] => {
    const partners = together.get(principalOf[holding.grant] ?? 0) ?? NOBODY;
    return near(holding, partners)
      .filter((other) => other.grant !== holding.grant && conflict(prohibition, holding, other))
      .filter((other) => candidates.has(other.grant) && partners.has(principalOf[other.grant] ?? 0))
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
