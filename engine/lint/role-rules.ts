// Rules about roles: without members, without use, and with members that are in them anyway.
import { formatIdentity } from '../model/identity.js';
import { isReachable, type LintWorld, withRoles } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

export function findIdleRoles(world: LintWorld, context: LintContext): void {
  const { roles, grants, guardrails } = world.set;
  const granted = new Set(grants.flatMap(({ principal }) => (principal.kind === 'role' ? [principal.role] : [])));
  const exempt = new Set(
    guardrails.flatMap(({ rule }) => (rule.kind === 'never' || rule.kind === 'separate' ? rule.except.roles : [])),
  );
  roles.forEach(({ name, place }, number) => {
    if (granted.has(name)) return; // Where nobody is in it, each of its grants says so.
    if (world.rolesOf[number] === undefined && !exempt.has(name)) {
      context.report({
        code: 'LINT_ROLE_UNUSED',
        place: placed(place),
        message: `nothing refers to the role \`${name}\``,
        help: 'grant it something, make it a member of a role, or remove it',
      });
    } else if (!isReachable(world, number)) {
      context.report({
        code: 'LINT_ROLE_EMPTY',
        place: placed(place),
        message: `nobody is in the role \`${name}\``,
        help: 'add members, or remove it',
      });
    }
  });
}

/** A member of a role that is a member of one of its other members too. */
export function findRepeatedMembers(world: LintWorld, context: LintContext): void {
  const { roles } = world.set;
  const above = new Map<number, ReadonlySet<number>>();
  const rolesAbove = (role: number): ReadonlySet<number> => {
    let known = above.get(role);
    if (known === undefined) above.set(role, (known = new Set(withRoles(world, role).slice(1))));
    return known;
  };
  roles.forEach((role, number) => {
    if (!role.members.some((member) => member.kind === 'role')) return;
    for (const member of role.members) {
      const principal = world.principalOf(member);
      const through = world.rolesOf[principal]?.find((other) => other !== number && rolesAbove(other).has(number));
      if (through === undefined) continue;
      const by = roles[through];
      const text = member.kind === 'role' ? `the role \`${member.role}\`` : `\`${formatIdentity(member.identity)}\``;
      context.report({
        code: 'LINT_MEMBER_REPEATED',
        place: placed(member.place ?? role.place),
        message: `${text} is in \`${role.name}\` anyway, through \`${by?.name ?? ''}\``,
        help: 'remove one of the two entries',
        related: relatedTo(by?.place ?? null, `\`${by?.name ?? ''}\` has it too`),
      });
    }
  });
}
