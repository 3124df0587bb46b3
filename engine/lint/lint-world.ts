// A policy as lint sees it: its tables, who holds what, and where each grant and role was written.
import { compileTables } from '../compile/compile-tables.js';
import { rememberLast } from '../model/group.js';
import type { HolderClasses } from '../model/holders.js';
import { childrenOf, type NamespaceTree, treeOf } from '../model/namespace-tree.js';
import type { FileOutline, PolicyRole, PolicySet } from '../model/policy-set.js';
import { type RowLists, rowsOf } from '../model/row-lists.js';
import { type MemberColumns, type PolicyTables, statedTables } from '../model/tables.js';
import { makeMembership, type Membership } from '../prove/cells/membership.js';

/** Principals and namespaces are rows of the tables; grants are in the order of the policy. */
export interface LintWorld {
  readonly set: PolicySet;
  readonly outlines: readonly FileOutline[];
  readonly tables: PolicyTables;
  /** By position in the policy. */
  readonly grantRows: Int32Array;
  readonly tree: NamespaceTree;
  readonly membership: Membership;
  /** As written: whoever is in a role for some time is in it. */
  readonly stated: Membership;
  /** By row. */
  readonly roles: readonly PolicyRole[];
  /** By role: 1 if it has any identity, directly or through other roles. */
  readonly populated: Uint8Array;
  /** By grant. */
  readonly principals: Int32Array;
  readonly nodes: Int32Array;
  /** By grant, the instants from and until which it is in force. */
  readonly from: Float64Array;
  readonly until: Float64Array;
  /** The principals of the members of all roles, in the order of the policy. */
  readonly memberPrincipals: Int32Array;
  /** Null if expanding roles takes more rows than the limit. */
  readonly holders: HolderClasses | null;
}

export function makeLintWorld(
  set: PolicySet,
  outlines: readonly FileOutline[],
  limits: { readonly expandedRows: number },
): LintWorld {
  const { tables, grantRows, roleRows, memberPrincipals, holders } = compileTables(set);
  const stated = makeMembership(statedTables(tables));
  const roles: PolicyRole[] = [];
  set.roles.forEach((role, position) => {
    roles[roleRows[position] ?? 0] = role;
  });
  return {
    set,
    outlines,
    tables,
    tree: treeOf(tables),
    membership: makeMembership(tables),
    stated,
    roles,
    populated: populate(stated),
    grantRows,
    principals: grantRows.map((row) => tables.grants.principal[row] ?? 0),
    nodes: grantRows.map((row) => tables.grants.namespace[row] ?? 0),
    from: Float64Array.from(grantRows, (row) => tables.grants.notBefore[row] ?? 0),
    until: Float64Array.from(grantRows, (row) => tables.grants.expires[row] ?? 0),
    memberPrincipals,
    holders: holders(limits.expandedRows),
  };
}

function populate({ tables, byMember }: Membership): Uint8Array {
  return populatedBy(tables.members, byMember, tables.roles.name.length);
}

const populatedBy = rememberLast((members: MemberColumns, byMember: RowLists, roles: number): Uint8Array => {
  const populated = new Uint8Array(roles);
  const open: number[] = [];
  const mark = (edge: number): void => {
    const role = members.role[edge] ?? 0;
    if (populated[role] === 1) return;
    populated[role] = 1;
    open.push(role);
  };
  members.member.forEach((member, edge) => {
    if (member >= populated.length) mark(edge);
  });
  for (let role = open.pop(); role !== undefined; role = open.pop()) rowsOf(byMember, role).forEach(mark);
  return populated;
});

/** Whether the principal is an identity, or a role that somebody is in. */
export function isReachable({ populated }: LintWorld, principal: number): boolean {
  return principal >= populated.length || populated[principal] === 1;
}

// The namespace classes of a grant that the fewest other grants reach. An inherited grant that counts below a namespace also counts
// in everything under it. So to learn whether something holds in *all* classes of a grant, it is enough to look at these.

/** A namespace class (docs/meaning.md "Cells"): a node alone, or all paths below it that have it as their nearest node. */
export interface NamespaceClass {
  readonly node: number;
  readonly extent: 'exact' | 'below';
}

/**
 * One class in most cases. If only nodes can be below the node (`NamespaceTree.belowOf`), the result has the node itself and the
 * classes of each of its children.
 */
export function leastClasses(
  tree: NamespaceTree,
  { node, inherit }: { readonly node: number; readonly inherit: boolean },
): readonly NamespaceClass[] {
  if (!inherit) return [{ node, extent: 'exact' }];
  if (tree.belowOf(node) === 'open') return [{ node, extent: 'below' }];
  const inside = childrenOf(tree, node).flatMap((child) => leastClasses(tree, { node: child, inherit: true }));
  return [{ node, extent: 'exact' }, ...inside];
}
