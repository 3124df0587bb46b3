// Rules about roles: roles without members, and unused roles.
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed } from './rule.js';

export function findIdleRoles(world: LintWorld, context: LintContext): void {
  const { grants, guardrails, roles } = world.set;
  const nested = new Set<string>();
  for (const { members } of roles) for (const one of members) if (one.kind === 'role') nested.add(one.role);
  const granted = new Set<string>();
  for (const { principal } of grants) if (principal.kind === 'role') granted.add(principal.role);
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
