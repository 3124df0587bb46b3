// Rules about single grants: grants to nobody, writes at the root, and grants that have expired or soon will.
import { formatIdentity } from '../model/identity.js';
import { formatInstant } from '../model/instant.js';
import type { PolicyGrant, PolicyMember } from '../model/policy-set.js';
import { ROOT } from '../model/namespace.js';
import { vocabularyOf } from '../model/vocabulary.js';
import { isScopeName, scopeOf } from '../model/scope.js';
import { hasScope } from '../model/scope-set.js';
import { isReachable, type LintWorld } from './lint-world.js';
import { type LintContext, type LintFinding, placed, relatedTo } from './rule.js';
import { makeSuggester } from '../diagnostics/nearest.js';

export function findUnreachableGrants(world: LintWorld, context: LintContext): void {
  const report = ({ id, place }: PolicyGrant, why: string, more: Pick<LintFinding, 'help' | 'related'>): void => {
    const message = `the grant \`${id}\` gives nobody anything: ${why}`;
    context.report({ code: 'LINT_GRANT_UNREACHABLE', place: placed(place), message, ...more });
  };
  world.set.grants.forEach((grant, index) => {
    if (!((world.from[index] ?? 0) < (world.until[index] ?? 0))) {
      report(grant, 'it is never in force', { help: 'remove it' });
      return;
    }
    const role = world.roles[world.principals[index] ?? 0];
    if (isReachable(world, world.principals[index] ?? 0) || role === undefined) return;
    report(grant, `nobody is in \`${role.name}\``, {
      help: 'add members to the role, or remove the grant',
      related: relatedTo(role.place, 'the role'),
    });
  });
}

export function findWritesAtRoot(world: LintWorld, context: LintContext): void {
  for (const grant of world.set.grants) {
    if (grant.namespace !== ROOT) continue;
    const families = vocabularyOf(world.set).familyNames.filter((family) => {
      const write = scopeOf(family, 'write');
      return isScopeName(write) && hasScope(grant.scopes, write);
    });
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
  const report = (what: () => string, { expires = null, place }: Pick<PolicyMember, 'expires' | 'place'>): void => {
    if (expires === null || expires > at + soonMilliseconds) return;
    const over = expires <= at;
    context.report({
      code: over ? 'LINT_GRANT_EXPIRED' : 'LINT_GRANT_EXPIRES_SOON',
      place: placed(place),
      message: `${what()} ${over ? 'expired' : 'expires'} at ${formatInstant(expires)}`,
      help: over ? 'remove it' : 'extend it, or let it end',
    });
  };
  for (const grant of world.set.grants) report(() => `the grant \`${grant.id}\``, grant);
  for (const { name, members } of world.set.roles)
    for (const member of members)
      report(() => {
        const who = member.kind === 'role' ? `role \`${member.role}\`` : `\`${formatIdentity(member.identity)}\``;
        return `the membership of ${who} in role \`${name}\``;
      }, member);
}

/** The families as a list for messages. */
export function listOf(families: readonly string[]): string {
  return families.map((family) => `\`${family}\``).join(', ');
}

// Grants at namespaces that a store does not have: a typing mistake, or a namespace that is yet to be created. Until it exists the
// grant opens nothing: anything stored below it would have created it.

export function findUnstoredNamespaces({ set }: LintWorld, { stored, namespacePlace, report }: LintContext): void {
  if (stored === null) return;
  const suggester = makeSuggester(stored);
  const meant = new Map<string, string | null>();
  for (const { id, namespace, place } of set.grants) {
    if (stored.has(namespace)) continue;
    if (!meant.has(namespace)) meant.set(namespace, suggester.nearest(namespace));
    const near = meant.get(namespace) ?? null;
    report({
      code: 'LINT_NAMESPACE_UNSTORED',
      place: placed(namespacePlace(place)),
      message: `grant \`${id}\` is at \`${namespace}\`, and the store has no such namespace`,
      help: near === null ? 'create the namespace, or remove the grant' : `did you mean \`${near}\`?`,
    });
  }
}
