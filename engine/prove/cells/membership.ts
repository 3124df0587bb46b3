// Who is in which role, followed in both directions, straight from the member edges. Loading groups identities only by
// roles that have grants; exemptions, causes and edits need the others too.
import { addTo } from '../../model/group.js';
import { firstFrom, listRows, type RowLists, rowsOf } from '../../model/row-lists.js';
import type { PolicyTables } from '../../model/tables.js';

/** Rows of the member edges, by either end. */
export interface Membership {
  readonly tables: PolicyTables;
  /** By principal: the edges that name it as a member. */
  readonly byMember: RowLists;
  /** By role: the edges to its members. */
  readonly byRole: RowLists;
}

export function makeMembership(tables: PolicyTables): Membership {
  const roles = tables.roles.name.length;
  return {
    tables,
    byMember: listRows(tables.members.member, roles + tables.identities.subject.length),
    byRole: listRows(tables.members.role, roles),
  };
}

/** The edges that name a principal as a member. */
export function edgesOfMember(membership: Membership, principal: number): Int32Array {
  return rowsOf(membership.byMember, principal);
}

/** Whether a role names a principal as a member; edges are sorted by role, then member. */
export function isMember(membership: Membership, role: number, principal: number): boolean {
  const edges = rowsOf(membership.byRole, role);
  const memberAt = (i: number): number => membership.tables.members.member[edges[i] ?? -1] ?? Infinity;
  return memberAt(firstFrom(edges.length, (i) => memberAt(i) >= principal)) === principal;
}

/** Every role that one of these principals is in, however deep, with the edges that lead to it: from the nearest first. */
export function edgesAbove(
  membership: Membership,
  principals: Iterable<number>,
): ReadonlyMap<number, readonly number[]> {
  const edges = new Map<number, number[]>();
  for (const principal of withRolesAbove(membership, principals))
    for (const edge of edgesOfMember(membership, principal))
      addTo(edges, membership.tables.members.role[edge] ?? 0, edge);
  return edges;
}

/** These principals and every role that one of them is in, however deep; the nearest first. */
export function withRolesAbove(membership: Membership, principals: Iterable<number>): ReadonlySet<number> {
  const reached = new Set(principals);
  // A set is walked in order of insertion, also over what is added meanwhile.
  for (const principal of reached) {
    for (const edge of edgesOfMember(membership, principal)) reached.add(membership.tables.members.role[edge] ?? 0);
  }
  return reached;
}

/** These principals and everything that is in one of them, however deep. */
export function withMembersBelow(membership: Membership, principals: Iterable<number>): ReadonlySet<number> {
  const roles = membership.tables.roles.name.length;
  const reached = new Set(principals);
  for (const principal of reached) {
    if (principal >= roles) continue;
    for (const edge of rowsOf(membership.byRole, principal)) reached.add(membership.tables.members.member[edge] ?? 0);
  }
  return reached;
}
