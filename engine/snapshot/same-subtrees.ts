// Which subtrees of the namespaces have the same cells in two versions of a policy, so that their digests are the same. Found by merging
// sorted columns, without looking at any cell. It may miss some: what is named was certainly not changed.
import { mergeIdentities, mergeTexts } from '../model/merge-rows.js';
import { childrenOf, subtreeEnds, treeOf } from '../model/namespace-tree.js';
import { listRows, rowsOf } from '../model/row-lists.js';
import { countPrincipals, type PolicyTables } from '../model/tables.js';

/** By row of the changed tables, the row with the same path in the old ones if nothing has changed at or below it; otherwise -1. */
export function sameSubtrees(old: PolicyTables, changed: PolicyTables): Int32Array {
  const rowOf = namespacesIn(old, changed);
  const principalOf = principalsIn(old, changed);
  const isMoved = movedPrincipals({ old, changed, principalOf });
  const ends = subtreeEnds(changed.namespaces.parent);
  const rows = ends.length;
  /** At each row, how many more changes count from there on than before. */
  const more = new Int32Array(rows + 1);
  const touch = (row: number, inherit: number | undefined): void => {
    const end = inherit === 1 ? (ends[row] ?? rows) : row + 1;
    more[row] = (more[row] ?? 0) + 1;
    more[end] = (more[end] ?? 0) - 1;
  };
  const touchOld = (grant: number): void => {
    const own = old.grants.namespace[grant] ?? 0;
    const row = rowOf[own] ?? -1;
    if (row >= 0) touch(row, old.grants.inherit[grant]);
    // With the row, all below it are gone, so only the rows above it have changed.
    else touch(nearestIn(rowOf, old.namespaces.parent, own), 0);
  };
  const grants = mergeTexts(old.grants.id, changed.grants.id);
  for (let number = 0; number < grants.count; number += 1) {
    const [before = -1, after = -1] = [grants.rows.old[number], grants.rows.new[number]];
    const isSame =
      before >= 0 &&
      after >= 0 &&
      principalOf[old.grants.principal[before] ?? 0] === changed.grants.principal[after] &&
      rowOf[old.grants.namespace[before] ?? 0] === changed.grants.namespace[after] &&
      FIELDS.every((field) => old.grants[field][before] === changed.grants[field][after]);
    if (isSame && isMoved[changed.grants.principal[after] ?? 0] !== 1) continue;
    if (before >= 0) touchOld(before);
    if (after >= 0) touch(changed.grants.namespace[after] ?? 0, changed.grants.inherit[after]);
  }
  return untouched(more, { ends, rowOf });
}

const FIELDS = ['scopes', 'inherit', 'notBefore', 'expires'] as const;

function untouched(
  more: Int32Array,
  { ends, rowOf }: { readonly ends: Int32Array; readonly rowOf: Int32Array },
): Int32Array {
  const touchedBefore = new Int32Array(ends.length + 1);
  let changes = 0;
  for (let row = 0; row < ends.length; row += 1) {
    changes += more[row] ?? 0;
    touchedBefore[row + 1] = (touchedBefore[row] ?? 0) + (changes > 0 ? 1 : 0);
  }
  const same = new Int32Array(ends.length).fill(-1);
  rowOf.forEach((row, before) => {
    if (row >= 0 && touchedBefore[row] === touchedBefore[ends[row] ?? 0]) same[row] = before;
  });
  return same;
}

/** By row of the old tables, the row of the same path in the changed ones, or -1. */
function namespacesIn(old: PolicyTables, changed: PolicyTables): Int32Array {
  if (old.namespaces === changed.namespaces && old.segments === changed.segments)
    return old.namespaces.parent.map((_, row) => row);
  const segments = mergeTexts(old.segments, changed.segments);
  const [ends, endsOld] = [subtreeEnds(changed.namespaces.parent), subtreeEnds(old.namespaces.parent)];
  const rowOf = new Int32Array(endsOld.length).fill(-1);
  rowOf[0] = 0;
  // By segment, the child of the row at hand. A parent stands before its children.
  const childOf = new Int32Array(segments.count).fill(-1);
  const segmentOf = (row: number): number => segments.numbers.new[changed.namespaces.segment[row] ?? 0] ?? 0;
  for (let before = 0; before < rowOf.length; before += 1) {
    const row = rowOf[before] ?? -1;
    if (row < 0 || endsOld[before] === before + 1) continue;
    const children = childrenOf({ end: ends }, row);
    for (const child of children) childOf[segmentOf(child)] = child;
    for (const child of childrenOf({ end: endsOld }, before))
      rowOf[child] = childOf[segments.numbers.old[old.namespaces.segment[child] ?? 0] ?? 0] ?? -1;
    for (const child of children) childOf[segmentOf(child)] = -1;
  }
  return rowOf;
}

function nearestIn(rowOf: Int32Array, parent: Int32Array, own: number): number {
  let at = own;
  while ((rowOf[at] ?? 0) < 0) at = parent[at] ?? 0;
  return rowOf[at] ?? 0;
}

/** By principal of the old tables, the same one in the changed ones, or -1. */
function principalsIn(old: PolicyTables, changed: PolicyTables): Int32Array {
  const roles = mergeTexts(old.roles.name, changed.roles.name);
  const identities = mergeIdentities(old, changed);
  const [count, countOld] = [changed.roles.name.length, old.roles.name.length];
  return new Int32Array(countPrincipals(old)).map((_, principal) => {
    if (principal < countOld) return roles.rows.new[roles.numbers.old[principal] ?? 0] ?? -1;
    const identity = identities.rows.new[identities.numbers.old[principal - countOld] ?? 0] ?? -1;
    return identity < 0 ? -1 : count + identity;
  });
}

interface Versions {
  readonly old: PolicyTables;
  readonly changed: PolicyTables;
  readonly principalOf: Int32Array;
}

/** By principal of the changed tables, 1 for a role that may not have the same identities as before. */
function movedPrincipals({ old, changed, principalOf }: Versions): Uint8Array {
  const [roles, rolesOld] = [changed.roles.name.length, old.roles.name.length];
  const [members, membersOld] = [listRows(changed.members.role, roles), listRows(old.members.role, rolesOld)];
  const isMoved = new Uint8Array(countPrincipals(changed)).fill(1, 0, roles);
  for (let before = 0; before < rolesOld; before += 1) {
    const role = principalOf[before] ?? -1;
    if (role < 0) continue;
    const [own, ownOld] = [rowsOf(members, role), rowsOf(membersOld, before)];
    const isSame =
      own.length === ownOld.length &&
      own.every((edge, i) => principalOf[old.members.member[ownOld[i] ?? 0] ?? 0] === changed.members.member[edge]);
    if (isSame) isMoved[role] = 0;
  }
  const listedBy = listRows(changed.members.member, isMoved.length);
  const open = Array.from({ length: roles }, (_, role) => role).filter((role) => isMoved[role] === 1);
  for (let role = open.pop(); role !== undefined; role = open.pop()) {
    for (const edge of rowsOf(listedBy, role)) {
      const above = changed.members.role[edge] ?? 0;
      if (isMoved[above] === 1) continue;
      isMoved[above] = 1;
      open.push(above);
    }
  }
  return isMoved;
}

/**
 * Whether a namespace has a row for every path that could come next. What is below it depends on all of its children
 * (snapshot/below.ts), so no subtree near it stands by itself.
 */
export function hasFullNamespace(tables: PolicyTables): boolean {
  const tree = treeOf(tables);
  return tables.namespaces.parent.some((_, row) => tree.belowOf(row) === 'full');
}
