// Rules about roles: roles without members, and unused roles.
import { edgesOfMember } from '../prove/cells/membership.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed } from './rule.js';

export function findIdleRoles(world: LintWorld, context: LintContext): void {
  const { stated, roles } = world;
  const granted = new Uint8Array(roles.length);
  for (const principal of stated.tables.grants.principal) if (principal < roles.length) granted[principal] = 1;
  const guarded = new Set(
    world.set.guardrails.flatMap(({ rule }) =>
      'except' in rule ? [...(rule.to?.roles ?? []), ...rule.except.roles] : [],
    ),
  );
  roles.forEach(({ name, place }, row) => {
    if (granted[row] === 1) return; // If nobody is in it, each of its grants is reported instead.
    if (edgesOfMember(stated, row).length === 0 && !guarded.has(name)) {
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
