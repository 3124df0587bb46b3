// Whom `except` of a guardrail leaves out, as texts, and whom a policy names at all.
import { formatIdentity, type Identity } from '../model/identity.js';
import { sortTexts } from '../model/order.js';
import type { Exemption, PolicyGuardrail, PolicySet } from '../model/policy-set.js';

/**
 * Identities and members of roles (nested ones too), as sorted texts. Only those whose memberships have no window are left out
 * (docs/meaning.md "Identities and roles").
 */
export type Resolve = (except: Exemption) => readonly string[];

export function makeResolve(set: PolicySet): Resolve {
  const members = new Map(set.roles.map((role) => [role.name, role.members]));
  return ({ roles, identities }) => {
    const named = new Set(identities.map(formatIdentity));
    const reached = new Set(roles);
    // Iterating a set also visits what is added meanwhile, so the loop follows nested roles to the end.
    for (const role of reached) {
      for (const member of members.get(role) ?? []) {
        if ((member.notBefore ?? member.expires ?? null) !== null) continue;
        if (member.kind === 'role') reached.add(member.role);
        else named.add(formatIdentity(member.identity));
      }
    }
    return sortTexts(named);
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
