// Who is in which role, of a source in which a name is a role as soon as somebody is a member of it. A policy has no circles of roles, so the
// line that closes one is left out and reported.
import type { IdentityResult } from '../../engine/index.js';
import type { ImportedMember, SourcePlace, Unsaid } from './imported-policy.js';

export interface MemberLink extends SourcePlace {
  readonly rule: string;
  readonly member: string;
  readonly role: string;
}

export interface RoleMembers {
  readonly roles: ReadonlyMap<string, readonly ImportedMember[]>;
  readonly unsaid: readonly Unsaid[];
  readonly isRole: (name: string) => boolean;
  /** The role or the identity of this name; null if no identity can be called so. */
  readonly partyOf: (name: string) => ImportedMember | null;
}

/** `empty` are roles even if nobody is a member of them. */
export function makeMembers(
  links: readonly MemberLink[],
  identityOf: (name: string) => IdentityResult,
  empty: Iterable<string> = [],
): RoleMembers {
  const names = [...links.map(({ role }) => role), ...empty];
  const lists = new Map<string, Map<string, ImportedMember>>(names.map((role) => [role, new Map()]));
  const unsaid: Unsaid[] = [];
  const isRole = (name: string): boolean => lists.has(name);
  const partyOf = (name: string): ImportedMember | null => {
    if (isRole(name)) return { role: name };
    const made = identityOf(name);
    return made.ok ? { identity: made.identity } : null;
  };
  const contains = (role: string, name: string): boolean => {
    const seen = new Set<string>();
    const open = [role];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === name) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      for (const member of lists.get(at)?.keys() ?? []) open.push(member);
    }
    return false;
  };
  for (const { file, line, rule, member, role } of links) {
    const party = partyOf(member);
    if (party === null) unsaid.push({ file, line, rule, why: `no identity can be called \`${member}\`` });
    else if (isRole(member) && contains(member, role))
      unsaid.push({ file, line, rule, why: 'it closes a circle of roles, and a policy has none' });
    else lists.get(role)?.set(member, party);
  }
  return { roles: new Map([...lists].map(([role, list]) => [role, [...list.values()]])), unsaid, isRole, partyOf };
}
