// The part of a policy that gives some identities anything. Grants only add, so these hold in it exactly what they hold in the whole.
import type { PolicySet } from '../../engine/compiler.js';
import type { Identity } from '../../engine/index.js';

/** Without tests and guardrails, which are about more. */
export function partOf(set: PolicySet, identities: readonly Identity[]): PolicySet {
  const subjects = new Map<string, Set<string>>();
  for (const { provider, subject } of identities) {
    const known = subjects.get(provider);
    if (known === undefined) subjects.set(provider, new Set([subject]));
    else known.add(subject);
  }
  const isTheirs = ({ provider, subject }: Identity): boolean => subjects.get(provider)?.has(subject) === true;
  const within = new Set<string>();
  const above = new Map<string, string[]>();
  for (const { name, members } of set.roles) {
    for (const member of members) {
      if (member.kind === 'identity') {
        if (isTheirs(member.identity)) within.add(name);
      } else {
        const known = above.get(member.role);
        if (known === undefined) above.set(member.role, [name]);
        else known.push(name);
      }
    }
  }
  // Iterating a set also visits what is added meanwhile.
  for (const role of within) for (const outer of above.get(role) ?? []) within.add(outer);
  return {
    ...set,
    roles: set.roles
      .filter(({ name }) => within.has(name))
      .map((role) => ({
        ...role,
        members: role.members.filter((one) => (one.kind === 'role' ? within.has(one.role) : isTheirs(one.identity))),
      })),
    grants: set.grants.filter(({ principal }) =>
      principal.kind === 'role' ? within.has(principal.role) : isTheirs(principal.identity),
    ),
    ...{ people: [], tests: [], guardrails: [] },
  };
}
