// Who can have gained or lost anything between two policies, grouped by what they hold near the changes, and where to look.
// Work grows with what was changed: identities whose grants are all the same, and places away from every change, are
// passed over (wanted.md, complete access plan).
import { compareGrants, type GrantChanges } from './changed-grants.js';
import { grantsOf, type Rows, subtreeRows } from './holdings.js';
import { endOf, type Nodes } from './nodes.js';
import type { PolicyPair, Side } from './policy-pair.js';

/** Identities that hold the same near all changes, in either policy. */
export interface AffectedGroup {
  /** Common numbers, sorted. */
  readonly identities: readonly number[];
  /** Rows of principals in the old policy, as far as they have grants near a change. */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** Where its rights may differ: disjoint runs of rows, each a node alone or with its subtree. */
  readonly places: readonly Rows[];
}

export interface Affected {
  readonly groups: readonly AffectedGroup[];
  readonly changes: GrantChanges;
}

export function findAffected(pair: PolicyPair): Affected {
  const changes = compareGrants(pair);
  const candidates = findCandidates(pair, changes);
  const near = markNear(
    pair,
    candidates.flatMap(({ changed }) => changed),
  );
  const groups = new Map<string, { group: Omit<AffectedGroup, 'identities'>; identities: number[] }>();
  for (const { before, after, identities, changed } of candidates) {
    const group = {
      before: before.filter((row) => near.old[row] === 1),
      after: after.filter((row) => near.new[row] === 1),
    };
    const key = `${group.before.join()}|${group.after.join()}`;
    const known = groups.get(key);
    if (known !== undefined) for (const identity of identities) known.identities.push(identity);
    else
      groups.set(key, {
        group: { ...group, places: outermost(pair.space.nodes, changed) },
        identities: [...identities],
      });
  }
  const found = [...groups.values()].map(({ group, identities }) => ({
    ...group,
    identities: identities.sort((a, b) => a - b),
  }));
  return { groups: found, changes };
}

/** Where a grant that one of the policies has not counts. */
export interface Change {
  readonly row: number;
  readonly inherit: boolean;
}

interface Candidate {
  readonly before: Int32Array;
  readonly after: Int32Array;
  readonly identities: readonly number[];
  readonly changed: readonly Change[];
}

/** Classes of holders of either policy that do not hold the very same grants in both. */
function findCandidates(pair: PolicyPair, changes: GrantChanges): readonly Candidate[] {
  const classes = pairClasses(pair);
  const touched = {
    old: principalsOfGrants(pair.old, changes.oldDiffers),
    new: principalsOfGrants(pair.new, changes.newDiffers),
  };
  const candidates: Candidate[] = [];
  for (const { old, new: after, identities } of classes) {
    const principals = { before: principalsOf(pair.old, old), after: principalsOf(pair.new, after) };
    if (holdTheSame(pair, principals, touched)) continue;
    const commonBefore = new Set(principals.before.map((row) => pair.old.principalOf[row] ?? -1));
    const commonAfter = new Set(principals.after.map((row) => pair.new.principalOf[row] ?? -1));
    const changed: Change[] = [];
    for (const row of principals.before) {
      const lost = !commonAfter.has(pair.old.principalOf[row] ?? -1);
      if (lost || touched.old[row] === 1)
        addChanges(changed, pair.old, { principal: row, differs: lost ? null : changes.oldDiffers });
    }
    for (const row of principals.after) {
      const gained = !commonBefore.has(pair.new.principalOf[row] ?? -1);
      if (gained || touched.new[row] === 1)
        addChanges(changed, pair.new, { principal: row, differs: gained ? null : changes.newDiffers });
    }
    if (changed.length > 0) candidates.push({ ...principals, identities, changed });
  }
  return candidates;
}

/** Rows and common numbers are in the same order, so that two lists are alike exactly if they are so place by place. */
function holdTheSame(
  pair: PolicyPair,
  { before, after }: { readonly before: Int32Array; readonly after: Int32Array },
  touched: { readonly old: Uint8Array; readonly new: Uint8Array },
): boolean {
  return (
    before.length === after.length &&
    before.every(
      (row, i) => touched.old[row] !== 1 && pair.old.principalOf[row] === pair.new.principalOf[after[i] ?? 0],
    ) &&
    after.every((row) => touched.new[row] !== 1)
  );
}

/** Adds the grants of a principal that differ; all of them where the principal itself came or went (`differs` is null). */
function addChanges(
  changed: Change[],
  side: Side,
  from: { readonly principal: number; readonly differs: Uint8Array | null },
): void {
  for (const grant of grantsOf(side.rights, from.principal)) {
    if (from.differs !== null && from.differs[grant] !== 1) continue;
    changed.push({ row: side.rights.rowOfGrant[grant] ?? 0, inherit: side.policy.tables.grants.inherit[grant] === 1 });
  }
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

/** The runs of rows of these changes, without those that lie in others. */
export function outermost(nodes: Nodes, changes: readonly Change[]): readonly Rows[] {
  const whole = new Map<number, boolean>();
  for (const { row, inherit } of changes) whole.set(row, inherit || (whole.get(row) ?? false));
  const places: Rows[] = [];
  let covered = 0;
  for (const [row, subtree] of [...whole].sort((a, b) => a[0] - b[0])) {
    if (row < covered) continue;
    places.push(subtree ? subtreeRows(nodes, row) : { from: row, until: row + 1 });
    covered = subtree ? endOf(nodes, row) : row + 1;
  }
  return places;
}
