// Rules about single grants: to nobody, at the root, and over.
import { formatInstant, windowOf } from '../model/instant.js';
import { ROOT } from '../model/namespace.js';
import { FAMILIES, hasScope } from '../model/scope.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, placed, relatedTo } from './rule.js';

export function findUnreachableGrants(world: LintWorld, context: LintContext): void {
  world.set.grants.forEach((grant, index) => {
    const finding = { code: 'LINT_GRANT_UNREACHABLE', place: placed(grant.place) } as const;
    const givesNobody = `the grant \`${grant.id}\` gives nobody anything`;
    const { from, until } = windowOf(grant);
    if (!(from < until)) {
      context.report({ ...finding, message: `${givesNobody}: it is never in force`, help: 'remove it' });
      return;
    }
    const role = world.roles[world.principals[index] ?? 0];
    if (isReachable(world, world.principals[index] ?? 0) || role === undefined) return;
    context.report({
      ...finding,
      message: `${givesNobody}: nobody is in \`${role.name}\``,
      help: 'add members to the role, or remove the grant',
      related: relatedTo(role.place, 'the role'),
    });
  });
}

export function findWritesAtRoot(world: LintWorld, context: LintContext): void {
  for (const grant of world.set.grants) {
    if (grant.namespace !== ROOT) continue;
    const families = FAMILIES.filter((family) => hasScope(grant.scopes, `${family}:write`));
    if (families.length === 0) continue;
    context.report({
      code: 'LINT_WRITE_AT_ROOT',
      place: placed(grant.place),
      message: `the grant \`${grant.id}\` allows writing ${listOf(families)} at the root${grant.inherit ? ' and everywhere below' : ''}`,
      help: 'bind it to a namespace, or say why in an ignore comment',
    });
  }
}

export function findEndingGrants(world: LintWorld, context: LintContext): void {
  const { at, soonMilliseconds } = context;
  if (at === null) return;
  for (const { id, expires, place } of world.set.grants) {
    if (expires === null || expires > at + soonMilliseconds) continue;
    const over = expires <= at;
    context.report({
      code: over ? 'LINT_GRANT_EXPIRED' : 'LINT_GRANT_EXPIRES_SOON',
      place: placed(place),
      message: `the grant \`${id}\` ${over ? 'expired' : 'expires'} at ${formatInstant(expires)}`,
      help: over ? 'remove it' : 'extend it, or let it end',
    });
  }
}

/** For messages. */
export function listOf(families: readonly string[]): string {
  return families.map((family) => `\`${family}\``).join(', ');
}
