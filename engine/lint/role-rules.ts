// Rules about roles: roles without members, unused roles, and members that are in a role anyway through another one.
import { remember } from '../model/group.js';
import { formatIdentity } from '../model/identity.js';
import { edgesOfMember, withRolesAbove } from '../prove/cells/membership.js';
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
  const rolesAbove = remember((role: number) => withRolesAbove(membership, [role]));
  const rolesOf = (principal: number): Int32Array =>
    edgesOfMember(membership, principal).map((edge) => membership.tables.members.role[edge] ?? 0);
  const rowOf = new Map(world.roles.map((role, row) => [role, row]));
  let first = 0;
  for (const role of world.set.roles) {
    const start = first;
    first += role.members.length;
    if (!role.members.some((member) => member.kind === 'role')) continue;
    const row = rowOf.get(role) ?? 0;
    role.members.forEach((member, position) => {
      const through = rolesOf(memberPrincipals[start + position] ?? 0).find(
        (other) => other !== row && rolesAbove(other).has(row),
      );
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
