// What a merge opens that no reviewed change opened by itself: Ann joins a role in one branch, the role gains a scope in another, and
// both were reviewed alone. Exact over all cells, as `diff` is: what the merged policy holds, the base does not, and no reviewed change opens.
import { compiledOf, type Policy } from '../../evaluate/policy.js';
import type { PreparedPolicy } from '../../evaluate/prepare.js';
import { groupBy } from '../../model/group.js';
import { identityAt, identityText } from '../../model/tables.js';
import { NOTHING, type Timeline, unite, without } from '../../model/timeline.js';
import { foldRights } from '../cells/fold.js';
import { holdingsIn, makeRights, type NodeRights } from '../cells/holdings.js';
import { principalsOf } from '../cells/identities.js';
import { makeRows } from '../cells/rows.js';
import { findAffected } from './affected.js';
import { makeCauseFinder } from './causes.js';
import type { DiffRow } from './diff-policies.js';
import { visitCarriers } from './patch-carriers.js';
import { makePair, type PolicyPair } from './policy-pair.js';

export interface Emergent {
  /** Disjoint, in path order; the causes are those from the base to the merged policy. */
  readonly rows: readonly DiffRow[];
  /** How many cells, with the nodes and instants of all of the policies. */
  readonly cells: bigint;
}

/** What somebody has reviewed. */
export interface ReviewedChange {
  readonly policy: Policy;
  /** What it was made from; null if that is the base. What was held there already, the change did not open. */
  readonly from: Policy | null;
}

/** One of these policies, with its own numbers over the common nodes. */
interface NumberedPolicy {
  readonly policy: PreparedPolicy;
  readonly rights: NodeRights;
}

/** All must be compiled policies. */
export function findEmergent(base: Policy, merged: Policy, reviewed: readonly ReviewedChange[]): Emergent {
  const others = reviewed.flatMap(({ policy, from }) => [compiledOf(policy), compiledOf(from ?? base)]);
  const pair = makePair(compiledOf(base), compiledOf(merged), others);
  const sides = others.map((policy) => ({ policy, rights: makeRights(policy, pair.nodes) }));
  const finder = makeCauseFinder(pair);
  const rows = makeRows(
    { ...pair, nameOf: (identity) => identityText(pair.new.policy.tables, identity) },
    finder.causes,
  );
  for (const group of findAffected(pair)) {
    const places = group.places();
    const after = holdingsIn(pair.new, group.new, places);
    if (after.length === 0) continue;
    const before = holdingsIn(pair.old, group.old, places);
    // Those who hold alike in base and merge may differ in what was reviewed.
    const alike = groupBy(group.identities, (identity) =>
      sides.map((side) => principalsIn(pair, side, identity)).join('|'),
    );
    for (const identities of alike.values()) {
      const [first = 0] = identities;
      const held = sides.map((side) => holdingsIn(side.rights, principalsIn(pair, side, first), places));
      const walk = { nodes: pair.nodes, places, sides: [after, before, ...held] };
      const patches = foldRights(walk, 'each', ([now, ...known]) => without(now ?? NOTHING, knownOf(known)));
      const findCauses = finder.of(identities);
      visitCarriers(pair.nodes, { holdings: after, patches }, (difference, carriers) => {
        findCauses({ having: 'new', difference, carriers }, rows.add(difference, identities));
      });
    }
  }
  return { rows: rows.finish(), cells: rows.cells() };
}

/** What the base holds, and what each change opens: what it holds, and what it was made from does not. */
function knownOf([base = NOTHING, ...held]: readonly Timeline[]): Timeline {
  const opened = held.flatMap((one, at) => (at % 2 === 0 ? [without(one, held[at + 1] ?? NOTHING)] : []));
  return unite([base, ...opened]);
}

/** What an identity, by its common number, is or is in. */
function principalsIn({ new: { policy } }: PolicyPair, side: NumberedPolicy, identity: number): Int32Array {
  return principalsOf(side.policy, identityAt(policy.tables, identity));
}
