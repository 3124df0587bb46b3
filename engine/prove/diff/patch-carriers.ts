// The grants that carry what differs, patch by patch. The patches of one region follow each other in time, so those are
// carried by a window that moves over the region's grants: many short windows at one place cost no more than they are.
import type { Patch } from '../cells/fold.js';
import type { Holding } from '../cells/holdings.js';
import type { Nodes } from '../cells/nodes.js';
import { carriers } from '../cells/regions.js';
import { compareNumbers } from '../../model/order.js';

type VisitCarriers = (patch: Patch, carrying: readonly Holding[]) => void;

/** `holdings` are sorted by node; patches of one region follow each other. */
export function visitCarriers(
  nodes: Nodes,
  { holdings, patches }: { readonly holdings: readonly Holding[]; readonly patches: readonly Patch[] },
  visit: VisitCarriers,
): void {
  for (let first = 0; first < patches.length;) {
    const patch = patches[first];
    if (patch === undefined) return;
    let last = first + 1;
    while (patches[last]?.region === patch.region) last += 1;
    if (last === first + 1) visit(patch, carriers(nodes, holdings, patch));
    else sweep(patches.slice(first, last), carriersOfAll(nodes, holdings, patches.slice(first, last)), visit);
    first = last;
  }
}

/** Those that carry any of the patches of a region, by their beginning. */
function carriersOfAll(nodes: Nodes, holdings: readonly Holding[], patches: readonly Patch[]): readonly Holding[] {
  const [first] = patches;
  if (first === undefined) return [];
  const all = patches.reduce((sum, { from, until, value }) => ({
    region: first.region,
    from: Math.min(sum.from, from),
    until: Math.max(sum.until, until),
    value: sum.value | value,
  }));
  return [...carriers(nodes, holdings, all)].sort((a, b) => compareNumbers(a.from, b.from));
}

function sweep(patches: readonly Patch[], candidates: readonly Holding[], visit: VisitCarriers): void {
  let begun = 0;
  let inForce: readonly Holding[] = [];
  for (const patch of [...patches].sort((a, b) => compareNumbers(a.from, b.from))) {
    const more: Holding[] = [];
    for (let next = candidates[begun]; next !== undefined && next.from < patch.until; next = candidates[begun]) {
      more.push(next);
      begun += 1;
    }
    inForce = [...inForce, ...more].filter((holding) => patch.from < holding.until);
    visit(
      patch,
      inForce.filter((holding) => (holding.scopes & patch.value) !== 0),
    );
  }
}
