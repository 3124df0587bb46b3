// Identities grouped by what they hold. Everything that depends on roles is computed once for identities with the same
// roles, so a role of 100,000 members is one class and not 100,000 rows.
import { remember, rememberLast } from './group.js';
import { listRows, makeColumn, type RowLists, rowsOf } from './row-lists.js';
import type { MemberColumns, PolicyTables } from './tables.js';

export interface HolderClasses {
  readonly count: number;
  /** The class of an identity row, or -1 if it holds no grant at all. */
  readonly classOf: Int32Array;
  /** The principals of class `c` that have grants, sorted: `principals[start[c]]` up to `principals[start[c + 1]]`. */
  readonly start: Int32Array;
  readonly principals: Int32Array;
}

/**
 * Null if following roles, or writing a row for every class and grant of it, would exceed `limit` rows.
 */
export function groupHolders(
  { roles, identities, members, grants }: PolicyTables,
  limit: number,
): HolderClasses | null {
  return groupsOf(members, grants.principal, roles.name, identities.subject)(limit);
}

const groupsOf = rememberLast(
  (members: MemberColumns, principals: Int32Array, roles: readonly string[], identities: readonly string[]) =>
    remember((limit: number) =>
      group(members, principals, { roles: roles.length, identities: identities.length, limit }),
    ),
);

/** From so many memberships on that lead to a role which is already known, they are followed once for all who have the same. */
const WORTH_REMEMBERING = 1_000;

function group(
  members: MemberColumns,
  grantees: Int32Array,
  { roles, identities, limit }: { readonly roles: number; readonly identities: number; readonly limit: number },
): HolderClasses | null {
  const grantsOf = new Int32Array(roles + identities);
  for (const principal of grantees) grantsOf[principal] = (grantsOf[principal] ?? 0) + 1;
  const rolesOf = rolesByMember(members, roles + identities);

  const classOf = new Int32Array(identities).fill(-1);
  const byRoles = new Map<string, number>();
  const start = makeColumn();
  start.push(0);
  const principals = makeColumn();
  const seen = new Int32Array(roles).fill(-1);
  /** The roles that an identity is in, directly or through other roles. */
  const reached = new Int32Array(roles);
  /** Where the roles with grants of those who are in the same roles are in `principals`, and what they count. */
  const followed = new Map<string, { readonly from: number; readonly to: number; readonly rows: number }>();
  let rows = 0;
  for (let identity = 0; identity < identities; identity += 1) {
    const direct = rowsOf(rolesOf, roles + identity);
    const ownGrants = grantsOf[roles + identity] ?? 0;
    const key = direct.join();
    // An identity with grants of its own is a class of its own; the others are distinguished by their roles.
    const same = ownGrants > 0 ? undefined : byRoles.get(key);
    if (same !== undefined) {
      classOf[identity] = same;
      continue;
    }
    const known = followed.get(key);
    let held: Int32Array;
    if (known !== undefined) {
      held = principals.rows().subarray(known.from, known.to);
      rows += known.rows + ownGrants;
    } else {
      let count = 0;
      for (const role of direct) {
        seen[role] = identity;
        reached[count] = role;
        count += 1;
      }
      let again = 0;
      for (let next = 0; next < count; next += 1) {
        const inner = reached[next] ?? 0;
        for (let i = rolesOf.start[inner] ?? 0; i < (rolesOf.start[inner + 1] ?? 0); i += 1) {
          const outer = rolesOf.rows[i] ?? 0;
          if (seen[outer] === identity) {
            again += 1;
            continue;
          }
          seen[outer] = identity;
          reached[count] = outer;
          count += 1;
        }
        if (rows + count + again > limit) return null;
      }
      let counted = count;
      // Roles with grants move to the front.
      let holding = 0;
      for (let i = 0; i < count; i += 1) {
        const role = reached[i] ?? 0;
        const grants = grantsOf[role] ?? 0;
        if (grants === 0) continue;
        counted += grants;
        reached[holding] = role;
        holding += 1;
      }
      held = reached.subarray(0, holding).sort();
      rows += counted + ownGrants + again;
      const from = principals.length();
      if (again > WORTH_REMEMBERING) followed.set(key, { from, to: from + holding, rows: counted });
    }
    if (rows > limit) return null;
    const number = held.length + ownGrants > 0 ? start.length() - 1 : -1;
    if (number >= 0) {
      for (const role of held) principals.push(role);
      if (ownGrants > 0) principals.push(roles + identity);
      start.push(principals.length());
    }
    classOf[identity] = number;
    if (ownGrants === 0) byRoles.set(key, number);
  }
  return {
    count: start.length() - 1,
    classOf,
    start: start.rows(),
    principals: principals.rows(),
  };
}

/** The roles that list each principal, in order. */
function rolesByMember(members: MemberColumns, count: number): RowLists {
  const { start, rows } = listRows(members.member, count);
  return { start, rows: rows.map((edge) => members.role[edge] ?? 0) };
}

/** The classes that hold the grants of each principal, in ascending order. */
export const classesByPrincipal = rememberLast((holders: HolderClasses, principals: number): RowLists => {
  const classes = new Int32Array(holders.principals.length);
  for (let holder = 0; holder < holders.count; holder += 1)
    classes.fill(holder, holders.start[holder], holders.start[holder + 1]);
  const { start, rows } = listRows(holders.principals, principals);
  return { start, rows: rows.map((slot) => classes[slot] ?? 0) };
});

/**
 * The identities of each class, in ascending order. Identities that hold nothing are listed under one additional class.
 */
export const identitiesByClass = rememberLast(({ classOf, count }: HolderClasses): RowLists =>
  listRows(
    classOf.map((holder) => (holder < 0 ? count : holder)),
    count + 1,
  ),
);
