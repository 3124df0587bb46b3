// Who can have gained or lost anything between two policies, grouped by what they hold near the changes, and where to
// look. Work grows with what was changed: identities whose grants are all the same, and places away from every change,
// are passed over.
import { compareGrants, type GrantChanges } from './changed-grants.js';
import { type Change, grantsOf, outermost, type Rows } from '../cells/holdings.js';
import type { PolicyPair, Side } from './policy-pair.js';

/** Identities that hold the same near all changes, in either policy. */
export interface AffectedGroup {
  /** Common numbers, sorted. */
  readonly identities: readonly number[];
  /** Rows of principals in the old policy, as far as they have grants near a change. */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** Where its rights may differ: disjoint runs of rows in path order, each a node alone or with its subtree. */
  readonly places: () => readonly Rows[];
}

export interface Affected {
  readonly groups: readonly AffectedGroup[];
  readonly changes: GrantChanges;
}

export function findAffected(pair: PolicyPair): Affected {
  const changes = compareGrants(pair);
  const compared: Compared = {
    pair,
    changes,
    touched: {
      old: principalsOfGrants(pair.old, changes.oldDiffers),
      new: principalsOfGrants(pair.new, changes.newDiffers),
    },
  };
  const { candidates, all } = findCandidates(compared);
  const near = markNear(pair, all);
  const groups = new Map<string, AffectedGroup & { readonly identities: number[] }>();
  for (const candidate of candidates) {
    const before = candidate.before.filter((row) => near.old[row] === 1);
    const after = candidate.after.filter((row) => near.new[row] === 1);
    const key = `${before.join()}|${after.join()}`;
    const known = groups.get(key);
    if (known !== undefined) for (const identity of candidate.identities) known.identities.push(identity);
    else {
      const places = (): readonly Rows[] =>
        outermost(pair.space.nodes, changesOf(compared, differingPrincipals(compared, candidate)));
      groups.set(key, { identities: [...candidate.identities], before, after, places });
    }
  }
  for (const { identities } of groups.values()) identities.sort((a, b) => a - b);
  return { groups: [...groups.values()], changes };
}

interface Compared {
  readonly pair: PolicyPair;
  readonly changes: GrantChanges;
  /** 1 for the principals of each policy with a grant that differs. */
  readonly touched: { readonly old: Uint8Array; readonly new: Uint8Array };
}

/** Rows of principals in each policy. */
interface Principals {
  readonly before: Int32Array;
  readonly after: Int32Array;
}

interface Candidate extends Principals {
  readonly identities: readonly number[];
}

/** Classes of holders of either policy that do not hold the very same grants in both, and all that differs for anybody. */
function findCandidates(compared: Compared): {
  readonly candidates: readonly Candidate[];
  readonly all: readonly Change[];
} {
  const { pair } = compared;
  const candidates: Candidate[] = [];
  // Each principal once, with all of its grants if anybody has it on one side alone.
  const known = { old: new Map<number, Differing>(), new: new Map<number, Differing>() };
  for (const { old, new: after, identities } of pairClasses(pair)) {
    const candidate = { before: principalsOf(pair.old, old), after: principalsOf(pair.new, after), identities };
    if (holdTheSame(compared, candidate)) continue;
    const differing = differingPrincipals(compared, candidate);
    if (differing.length > 0) candidates.push(candidate);
    for (const one of differing) {
      const before = known[one.side].get(one.principal);
      if (before === undefined || (one.alone && !before.alone)) known[one.side].set(one.principal, one);
    }
  }
  return { candidates, all: changesOf(compared, [...known.old.values(), ...known.new.values()]) };
}

/** A principal of one side that has grants: some that differ, or all of them where it is held on this side alone. */
interface Differing {
  readonly side: 'old' | 'new';
  readonly principal: number;
  readonly alone: boolean;
}

function differingPrincipals({ pair, touched }: Compared, { before, after }: Principals): readonly Differing[] {
  const commonBefore = new Set(before.map((row) => pair.old.principalOf[row] ?? -1));
  const commonAfter = new Set(after.map((row) => pair.new.principalOf[row] ?? -1));
  const found: Differing[] = [];
  for (const principal of before) {
    const alone = !commonAfter.has(pair.old.principalOf[principal] ?? -1);
    const differs = alone ? grantsOf(pair.old.rights, principal).length > 0 : touched.old[principal] === 1;
    if (differs) found.push({ side: 'old', principal, alone });
  }
  for (const principal of after) {
    const alone = !commonBefore.has(pair.new.principalOf[principal] ?? -1);
    const differs = alone ? grantsOf(pair.new.rights, principal).length > 0 : touched.new[principal] === 1;
    if (differs) found.push({ side: 'new', principal, alone });
  }
  return found;
}

/** The differing grants of these principals. If a principal was added or removed, all of its grants differ. */
function changesOf({ pair, changes }: Compared, differing: readonly Differing[]): readonly Change[] {
  const found: Change[] = [];
  for (const { side, principal, alone } of differing) {
    const { rights, policy } = pair[side];
    const differs = side === 'old' ? changes.oldDiffers : changes.newDiffers;
    for (const grant of grantsOf(rights, principal)) {
      if (!alone && differs[grant] !== 1) continue;
      found.push({ row: rights.rowOfGrant[grant] ?? 0, inherit: policy.tables.grants.inherit[grant] === 1 });
    }
  }
  return found;
}

/** Rows and common numbers are in the same order, so that two lists are alike exactly if they are so place by place. */
function holdTheSame({ pair, touched }: Compared, { before, after }: Principals): boolean {
  return (
    before.length === after.length &&
    before.every(
      (row, i) => touched.old[row] !== 1 && pair.old.principalOf[row] === pair.new.principalOf[after[i] ?? 0],
    ) &&
    after.every((row) => touched.new[row] !== 1)
  );
}

function principalsOfGrants(side: Side, differs: Uint8Array): Uint8Array {
  const touched = new Uint8Array(side.principalOf.length);
  differs.forEach((one, grant) => {
    if (one === 1) touched[side.policy.tables.grants.principal[grant] ?? 0] = 1;
  });
  return touched;
}

interface PairClass {
  /** Class of holders in the old policy; -1 for those who hold nothing there. */
  readonly old: number;
  readonly new: number;
  readonly identities: readonly number[];
}

/** The identities of either policy by their classes in both. */
function pairClasses(pair: PolicyPair): readonly PairClass[] {
  const classOf = ({ policy, identityRow }: Side, identity: number): number => {
    const row = identityRow[identity] ?? -1;
    return row < 0 ? -1 : (policy.holders.classOf[row] ?? -1);
  };
  const width = pair.new.policy.holders.count + 1;
  const classes = new Map<number, PairClass & { readonly identities: number[] }>();
  for (let identity = 0; identity < pair.identities; identity += 1) {
    const [old, after] = [classOf(pair.old, identity), classOf(pair.new, identity)];
    const key = (old + 1) * width + after + 1;
    const known = classes.get(key);
    if (known === undefined) classes.set(key, { old, new: after, identities: [identity] });
    else known.identities.push(identity);
  }
  return [...classes.values()];
}

const NO_PRINCIPALS = new Int32Array(0);

function principalsOf({ policy: { holders } }: Side, holder: number): Int32Array {
  return holder < 0 ? NO_PRINCIPALS : holders.principals.subarray(holders.start[holder], holders.start[holder + 1]);
}

/** 1 for the principals of each policy with a grant that counts where something changed. */
function markNear(
  pair: PolicyPair,
  changes: readonly Change[],
): { readonly old: Uint8Array; readonly new: Uint8Array } {
  const { nodes } = pair.space;
  const marked = new Uint8Array(nodes.paths.length);
  for (const { from, until } of outermost(nodes, changes)) {
    marked.fill(1, from, until);
    for (let row = nodes.parent[from] ?? -1; row >= 0 && marked[row] === 0; row = nodes.parent[row] ?? -1)
      marked[row] = 1;
  }
  const principals = (side: Side): Uint8Array =>
    principalsOfGrants(
      side,
      Uint8Array.from(side.rights.rowOfGrant, (row) => marked[row] ?? 0),
    );
  return { old: principals(pair.old), new: principals(pair.new) };
}
