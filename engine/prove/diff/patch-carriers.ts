// The grants that carry what differs, patch by patch. The patches of one region follow each other in time, so one sweep over the region's
// grants finds the carriers of each. Many short windows at one place then cost no more than their number.
import { groupBy } from '../../model/group.js';
import { compareNumbers } from '../../model/order.js';
import { haveCommon, unionScopes } from '../../model/scope-set.js';
import { carriers, type Holding } from '../cells/holdings.js';
import type { Nodes } from '../cells/nodes.js';
import type { CellPatch } from '../cells/regions.js';

type VisitCarriers = (patch: CellPatch, carrying: readonly Holding[]) => void;

/** `holdings` must be sorted by node. Patches that share a region object must not overlap in time. */
export function visitCarriers(
  nodes: Nodes,
  { holdings, patches }: { readonly holdings: readonly Holding[]; readonly patches: readonly CellPatch[] },
  visit: VisitCarriers,
): void {
  for (const alike of groupBy(patches, ({ region }) => region).values()) {
    const all = alike.reduce((sum, { from, until, scopes }) => ({
      region: sum.region,
      from: Math.min(sum.from, from),
      until: Math.max(sum.until, until),
      scopes: unionScopes(sum.scopes, scopes),
    }));
    const carrying = carriers(nodes, holdings, all);
    if (alike.length === 1) visit(all, carrying);
    else sweep(alike, carrying, visit);
  }
}

function sweep(patches: readonly CellPatch[], carrying: readonly Holding[], visit: VisitCarriers): void {
  const byBeginning = carrying.toSorted((a, b) => compareNumbers(a.from, b.from));
  let begun = 0;
  let inForce: readonly Holding[] = [];
  for (const patch of patches.toSorted((a, b) => compareNumbers(a.from, b.from))) {
    const before = begun;
    while ((byBeginning[begun]?.from ?? Infinity) < patch.until) begun += 1;
    inForce = [...inForce, ...byBeginning.slice(before, begun)].filter((holding) => patch.from < holding.until);
    visit(
      patch,
      inForce.filter((holding) => haveCommon(holding.scopes, patch.scopes)),
    );
  }
}
