// Who is in which role, in both directions, straight from the member edges. Loading groups identities only by roles that have grants,
// but exemptions, causes and edits need the other roles too.
import { addTo, rememberLast } from '../../model/group.js';
import { firstFrom, listRows, type RowLists, rowsOf } from '../../model/row-lists.js';
import { countPrincipals, type MemberColumns, type PolicyTables } from '../../model/tables.js';

/** Rows of the member edges, by either end. */
export interface Membership {
  readonly tables: PolicyTables;
  /** By principal: the edges that name it as a member. */
  readonly byMember: RowLists;
  /** By role: the edges to its members. */
  readonly byRole: RowLists;
}

export function makeMembership(tables: PolicyTables): Membership {
  return { tables, ...listMembers(tables.members, countPrincipals(tables), tables.roles.name.length) };
}

const listMembers = rememberLast(({ member, role }: MemberColumns, principals: number, roles: number) => ({
  byMember: listRows(member, principals),
  byRole: listRows(role, roles),
}));

/** The edges that name a principal as a member. */
export function edgesOfMember(membership: Membership, principal: number): Int32Array {
  return rowsOf(membership.byMember, principal);
}

/** Whether a role names a principal as a member. Edges are sorted by role, then member. */
export function isMember(membership: Membership, role: number, principal: number): boolean {
  const edges = rowsOf(membership.byRole, role);
  const memberAt = (i: number): number => membership.tables.members.member[edges[i] ?? -1] ?? Infinity;
  return memberAt(firstFrom(edges.length, (i) => memberAt(i) >= principal)) === principal;
}

/** Every role that any of these principals is in, directly or nested, with the edges that lead to it. The nearest come first. */
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

/** These principals and every role that any of them is in, directly or nested. The nearest come first. */
export function withRolesAbove(membership: Membership, principals: Iterable<number>): ReadonlySet<number> {
  const reached = new Set(principals);
  // Iterating a set also visits what is added meanwhile.
  for (const principal of reached) {
    for (const edge of edgesOfMember(membership, principal)) reached.add(membership.tables.members.role[edge] ?? 0);
  }
  return reached;
}

/** The roles that are members of a role themselves. */
export function nestedRoles({ byRole, tables }: Membership, role: number): readonly number[] {
  const members = Array.from(rowsOf(byRole, role), (edge) => tables.members.member[edge] ?? 0);
  return members.filter((member) => member < tables.roles.name.length);
}

/** These principals and everything that is in any of them, directly or nested. */
export function withMembersBelow(membership: Membership, principals: Iterable<number>): ReadonlySet<number> {
  const roles = membership.tables.roles.name.length;
  const reached = new Set(principals);
  for (const principal of reached) {
    if (principal >= roles) continue;
    for (const edge of rowsOf(membership.byRole, principal)) reached.add(membership.tables.members.member[edge] ?? 0);
  }
  return reached;
}
