// Members of a role that are in it anyway, through a role inside it. The search goes up from a member, so that roles which many others
// contain are not walked again for each of them, and members of the same roles share one search.
import { addTo, remember } from '../model/group.js';
import { formatIdentity } from '../model/identity.js';
import { listRows, rowsOf } from '../model/row-lists.js';
import { countPrincipals } from '../model/tables.js';
import { edgesOfMember, nestedRoles } from '../prove/cells/membership.js';
import type { LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

export function findRepeatedMembers(world: LintWorld, context: LintContext): void {
  const { through, gaveUpAt } = repetitions(world, context.maxPairs);
  let position = 0;
  for (const role of world.set.roles) {
    for (const member of role.members) {
      const by = world.roles[through[position] ?? NONE];
      const isLast = position === gaveUpAt;
      position += 1;
      if (by === undefined && !isLast) continue;
      const place = placed(member.place ?? role.place);
      if (isLast) context.onLimit(place, 'not all members were looked for in the roles inside theirs');
      if (by === undefined) continue;
      const text = member.kind === 'role' ? `the role \`${member.role}\`` : `\`${formatIdentity(member.identity)}\``;
      context.report({
        code: 'LINT_MEMBER_REPEATED',
        place,
        message: `${text} is in \`${role.name}\` anyway, through \`${by.name}\``,
        help: 'remove one of the two entries',
        related: relatedTo(by.place, `\`${by.name}\` has it too`),
      });
    }
  }
}

const NONE = -1;

interface Repetitions {
  /** By position of the member in the policy: the first role inside its role that has it, or `NONE`. */
  readonly through: Int32Array;
  /** The first member that was not looked for, or `NONE`. */
  readonly gaveUpAt: number;
}

function repetitions(world: LintWorld, most: number): Repetitions {
  const { membership, memberPrincipals } = world;
  const { members } = membership.tables;
  const roleOf = rolesOfMembers(world);
  const through = new Int32Array(roleOf.length).fill(NONE);
  const height = remember((role: number): number =>
    nestedRoles(membership, role).reduce((top, inner) => Math.max(top, height(inner) + 1), 0),
  );
  /** By role: the first of the search's roles below it, and the search that found it. */
  const first = new Int32Array(world.roles.length);
  const foundBy = new Int32Array(world.roles.length).fill(NONE);
  let steps = 0;
  // A role without roles inside has nobody through one.
  const hasInner = Uint8Array.from(world.roles, (_, role) => (height(role) > 0 ? 1 : 0));
  const isOuter = (position: number): boolean => hasInner[roleOf[position] ?? 0] === 1;
  for (const [search, positions] of likeMembers(world, isOuter).entries()) {
    const top = positions.reduce((highest, position) => Math.max(highest, height(roleOf[position] ?? 0)), 0);
    if (top === 0) continue;
    for (const edge of edgesOfMember(membership, memberPrincipals[positions[0] ?? 0] ?? 0)) {
      const from = members.role[edge] ?? 0;
      const open = [from];
      for (let role = open.pop(); role !== undefined; role = open.pop()) {
        const edges = edgesOfMember(membership, role);
        steps += edges.length;
        if (steps > most) return { through, gaveUpAt: positions[0] ?? 0 };
        for (const above of edges) {
          const outer = members.role[above] ?? 0;
          // What is above a role that was found before was found as well.
          if (foundBy[outer] === search || height(outer) > top) continue;
          foundBy[outer] = search;
          first[outer] = from;
          open.push(outer);
        }
      }
    }
    for (const position of positions) {
      const role = roleOf[position] ?? 0;
      if (foundBy[role] === search) through[position] = first[role] ?? NONE;
    }
  }
  return { through, gaveUpAt: NONE };
}

/** By position in the policy. */
function rolesOfMembers({ set, roles, memberPrincipals }: LintWorld): Int32Array {
  const rowOf = new Map(roles.map((role, row) => [role, row]));
  const roleOf = new Int32Array(memberPrincipals.length);
  let end = 0;
  for (const role of set.roles) roleOf.fill(rowOf.get(role) ?? 0, end, (end += role.members.length));
  return roleOf;
}

/**
 * The positions of members that several roles name, one of them an outer one, together if the same roles do without a window.
 */
function likeMembers(
  { membership, memberPrincipals }: LintWorld,
  isOuter: (position: number) => boolean,
): readonly (readonly number[])[] {
  const positionsOf = listRows(memberPrincipals, countPrincipals(membership.tables));
  const alike = new Map<string, number[]>();
  for (let principal = 0; principal + 1 < positionsOf.start.length; principal += 1) {
    const positions = rowsOf(positionsOf, principal);
    if (positions.length < 2 || !positions.some(isOuter)) continue;
    const roles = edgesOfMember(membership, principal).map((edge) => membership.tables.members.role[edge] ?? 0);
    const key = roles.join();
    for (const position of positions) addTo(alike, key, position);
  }
  return [...alike.values()];
}
