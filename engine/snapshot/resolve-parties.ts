// Whom `to` and `except` of a guardrail name, as texts: identities, members of roles (nested ones too), and whoever the policy names of a
// provider.
import { formatIdentity, GROUP_SUFFIX, type Identity } from '../model/identity.js';
import { sortTexts } from '../model/order.js';
import type { Audience, PolicyGuardrail, PolicySet } from '../model/policy-set.js';

/** Whom an audience names. */
interface Resolved {
  /** As sorted texts. */
  readonly identities: readonly string[];
  /** With those inside them. */
  readonly roles: ReadonlySet<string>;
}

/**
 * `ever`: also those who are in a role for some time only. `always`: those alone whose memberships have no window, whom `except` leaves
 * out (docs/meaning.md "Identities and roles").
 */
export type Resolve = (named: Audience, counts: 'ever' | 'always') => Resolved;

export function makeResolve(set: PolicySet): Resolve {
  const members = new Map(set.roles.map((role) => [role.name, role.members]));
  let everybody: readonly Identity[] | null = null;
  return ({ providers, roles, identities }, counts) => {
    const named = new Set(identities.map(formatIdentity));
    const reached = new Set(roles);
    // Iterating a set also visits what is added meanwhile, so the loop follows nested roles to the end.
    for (const role of reached) {
      for (const member of members.get(role) ?? []) {
        if (counts === 'always' && (member.notBefore ?? member.expires ?? null) !== null) continue;
        if (member.kind === 'role') reached.add(member.role);
        else named.add(formatIdentity(member.identity));
      }
    }
    if (providers.length > 0) {
      const from = new Set(providers.flatMap((provider) => [provider, provider + GROUP_SUFFIX]));
      everybody ??= namedIdentities(set);
      for (const identity of everybody) if (from.has(identity.provider)) named.add(formatIdentity(identity));
    }
    return { identities: sortTexts(named), roles: reached };
  };
}

/** The guardrail whose `except` names more members of roles than `limit` leaves, counted with the guardrails before it; null if none does. */
export function pastExceptions(set: PolicySet, limit: number): PolicyGuardrail | null {
  const members = new Map(set.roles.map((role) => [role.name, role.members]));
  let left = limit;
  for (const guardrail of set.guardrails) {
    const { rule } = guardrail;
    const reached = new Set('except' in rule ? rule.except.roles : []);
    for (const role of reached) {
      const those = members.get(role) ?? [];
      left -= those.length;
      if (left < 0) return guardrail;
      for (const member of those) if (member.kind === 'role') reached.add(member.role);
    }
  }
  return null;
}

/** All identities that roles, grants, people and exclusive lists name; some more than once. */
export function namedIdentities({ exclusive, roles, grants, people }: PolicySet): readonly Identity[] {
  return [
    ...roles.flatMap(({ members }) =>
      members.flatMap((member) => (member.kind === 'identity' ? [member.identity] : [])),
    ),
    ...grants.flatMap(({ principal }) => (principal.kind === 'identity' ? [principal.identity] : [])),
    ...people.flatMap(({ identities }) => identities),
    ...exclusive.flatMap(({ identities }) => identities),
  ];
}
