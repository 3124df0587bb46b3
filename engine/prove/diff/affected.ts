// Who may have gained or lost anything between two policies, grouped by what they hold near the changes, and where to look. The work
// grows with the changes: identities with the same grants on both sides, and places away from every change, are skipped.
import { groupBy } from '../../model/group.js';
import {
  grantsOf,
  type Holding,
  holdingOf,
  outermost,
  principalsNear,
  principalsOfGrants,
  type RowRange,
  rowsNear,
} from '../cells/holdings.js';
import { principalsOfClass } from '../cells/identities.js';
import type { PolicyPair, Side, SideName } from './policy-pair.js';

/** Identities that hold the same near all changes, in either policy. */
export interface AffectedGroup extends Principals {
  readonly identities: readonly number[];
  /** Where its rights may differ: disjoint ranges of rows in path order, each a node alone or with its subtree. */
  readonly places: () => readonly RowRange[];
}

/** The principals that some identities are or are in, in each policy: either all of them, or those with grants near a change. */
type Principals = Readonly<Record<SideName, Int32Array>>;

interface Candidate extends Principals {
  readonly identities: readonly number[];
  /** Never empty. */
  readonly differing: readonly Differing[];
}

/** A principal with grants that differ. If its holders have it only on this side (`alone`), all of its grants differ. */
interface Differing {
  readonly side: SideName;
  readonly principal: number;
  readonly alone: boolean;
}

export function findAffected(pair: PolicyPair): readonly AffectedGroup[] {
  const candidates = findCandidates(pair);
  const all = new Map(candidates.flatMap(({ differing }) => differing.map((one) => [keyOf(one), one])));
  const rows = rowsNear(pair.nodes, outermost(pair.nodes, changesOf(pair, all.values())));
  const near = { old: principalsNear(pair.old, rows), new: principalsNear(pair.new, rows) };
  const nearby = candidates.map((candidate) => ({
    ...candidate,
    old: candidate.old.filter((principal) => near.old[principal] === 1),
    new: candidate.new.filter((principal) => near.new[principal] === 1),
  }));
  const groups = groupBy(nearby, (candidate) => `${candidate.old.join()}|${candidate.new.join()}`);
  return [...groups.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const places = (): readonly RowRange[] => outermost(pair.nodes, changesOf(pair, first.differing));
    const identities = alike.flatMap((candidate) => candidate.identities).sort((a, b) => a - b);
    return [{ old: first.old, new: first.new, identities, places }];
  });
}

/** The classes of holders that do not hold exactly the same grants in both policies. */
function findCandidates(pair: PolicyPair): readonly Candidate[] {
  const touched = {
    old: principalsOfGrants(pair.old.policy, pair.old.differs),
    new: principalsOfGrants(pair.new.policy, pair.new.differs),
  };
  const classIn = ({ policy }: Side, identity: number): number => policy.holders.classOf[identity] ?? -1;
  const width = pair.new.policy.holders.count + 1;
  const classes = groupBy(
    Array.from({ length: pair.identities }, (_, identity) => identity),
    (identity) => (classIn(pair.old, identity) + 1) * width + classIn(pair.new, identity) + 1,
  );
  return [...classes.values()].flatMap((identities) => {
    const [first = 0] = identities;
    const held = {
      old: principalsOfClass(pair.old.policy, classIn(pair.old, first)),
      new: principalsOfClass(pair.new.policy, classIn(pair.new, first)),
    };
    const differing = [...differingOn('old', held, touched), ...differingOn('new', held, touched)];
    return differing.length === 0 ? [] : [{ ...held, identities, differing }];
  });
}

function differingOn(
  side: SideName,
  held: Principals,
  touched: Readonly<Record<SideName, Uint8Array>>,
): readonly Differing[] {
  const others = held[side === 'old' ? 'new' : 'old'];
  const found: Differing[] = [];
  let at = 0;
  // Both lists are sorted.
  for (const principal of held[side]) {
    while ((others[at] ?? Infinity) < principal) at += 1;
    const alone = others[at] !== principal;
    if (alone || touched[side][principal] === 1) found.push({ side, principal, alone });
  }
  return found;
}

function keyOf({ side, principal, alone }: Differing): number {
  return 4 * principal + (side === 'old' ? 2 : 0) + (alone ? 1 : 0);
}

/** The differing grants of these principals. */
function changesOf(pair: PolicyPair, differing: Iterable<Differing>): readonly Holding[] {
  const found: Holding[] = [];
  for (const { side, principal, alone } of differing) {
    for (const grant of grantsOf(pair[side].policy, principal))
      if (alone || pair[side].differs[grant] === 1) found.push(holdingOf(pair[side], grant));
  }
  return found;
}
