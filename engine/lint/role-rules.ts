// Rules about roles: roles without members, unused roles, and members that are in a role anyway through another one.
import { remember } from '../model/group.js';
import { formatIdentity } from '../model/identity.js';
import { compareNumbers } from '../model/order.js';
import { edgesOfMember, isMember, nestedRoles } from '../prove/cells/membership.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

export function findIdleRoles(world: LintWorld, context: LintContext): void {
  const { grants, guardrails, roles } = world.set;
  const nested = new Set(
    roles.flatMap(({ members }) => members.flatMap((one) => (one.kind === 'role' ? [one.role] : []))),
  );
  const granted = new Set(grants.flatMap(({ principal }) => (principal.kind === 'role' ? [principal.role] : [])));
  const guarded = new Set(
    guardrails.flatMap(({ rule }) => ('except' in rule ? [...(rule.to?.roles ?? []), ...rule.except.roles] : [])),
  );
  world.roles.forEach(({ name, place }, row) => {
    if (granted.has(name)) return; // If nobody is in it, each of its grants is reported instead.
    if (!nested.has(name) && !guarded.has(name)) {
      context.report({
        code: 'LINT_ROLE_UNUSED',
        place: placed(place),
        message: `nothing refers to the role \`${name}\``,
        help: 'grant it something, make it a member of a role, or remove it',
      });
    } else if (!isReachable(world, row)) {
      context.report({
        code: 'LINT_ROLE_EMPTY',
        place: placed(place),
        message: `nobody is in the role \`${name}\``,
        help: 'add members, or remove it',
      });
    }
  });
}

/** Finds members of a role that are also members of a role inside it. */
export function findRepeatedMembers(world: LintWorld, context: LintContext): void {
  const { membership, memberPrincipals } = world;
  const rolesIn = remember((role: number) => nestedRoles(membership, role));
  /** Smallest first. */
  const rolesBelow = (role: number): readonly number[] => {
    const below = new Set(rolesIn(role));
    for (const inner of below) for (const one of rolesIn(inner)) below.add(one);
    return [...below].sort(compareNumbers);
  };
  const rowOf = new Map(world.roles.map((role, row) => [role, row]));
  let first = 0;
  for (const role of world.set.roles) {
    const start = first;
    first += role.members.length;
    if (!role.members.some((member) => member.kind === 'role')) continue;
    const below = rolesBelow(rowOf.get(role) ?? 0);
    const isBelow = new Set(below);
    role.members.forEach((member, position) => {
      const principal = memberPrincipals[start + position] ?? 0;
      const edges = edgesOfMember(membership, principal);
      // Somebody may be in as many roles as there are, and a role may have as many below it.
      const through =
        edges.length < below.length
          ? Array.from(edges, (edge) => membership.tables.members.role[edge] ?? 0).find((other) => isBelow.has(other))
          : below.find((other) => isMember(membership, other, principal));
      if (through === undefined) return;
      const by = world.roles[through];
      const text = member.kind === 'role' ? `the role \`${member.role}\`` : `\`${formatIdentity(member.identity)}\``;
      context.report({
        code: 'LINT_MEMBER_REPEATED',
        place: placed(member.place ?? role.place),
        message: `${text} is in \`${role.name}\` anyway, through \`${by?.name ?? ''}\``,
        help: 'remove one of the two entries',
        related: relatedTo(by?.place ?? null, `\`${by?.name ?? ''}\` has it too`),
      });
    });
  }
}
