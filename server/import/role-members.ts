// Who is in which role, of a source in which a name is a role as soon as somebody is a member of it. A policy has no circles of roles, so the
// line that closes one is left out and reported.
import type { IdentityResult } from '../../engine/index.js';
import type { ImportedMember, ImportedRole, SourcePlace, Unsaid } from './imported-policy.js';
import { valueIn } from './value-in.js';

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
  // Only between roles of one knot can a line close a circle.
  const knotOf = knotsOf(links.filter(({ member }) => isRole(member)));
  const contains = (role: string, name: string): boolean => {
    const knot = knotOf(name);
    if (knotOf(role) !== knot) return false;
    const seen = new Set<string>();
    const open = [role];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (at === name) return true;
      if (seen.has(at) || knotOf(at) !== knot) continue;
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

/** The roles by their names in the policy, and a member by that of its role. */
export function namedRoles(
  { roles }: RoleMembers,
  nameOf: (role: string) => string,
  describe: (role: string) => string,
): { readonly roles: readonly ImportedRole[]; readonly named: (member: ImportedMember) => ImportedMember } {
  const named = (member: ImportedMember): ImportedMember => ('role' in member ? { role: nameOf(member.role) } : member);
  const all = Array.from(roles, ([role, list]) => ({
    ...{ name: nameOf(role), description: describe(role), members: list.map(named) },
  }));
  return { roles: all, named };
}

/** A number for each role: roles that contain each other, by all lines together, have the same one. */
function knotsOf(links: readonly MemberLink[]): (role: string) => number {
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const { member, role } of links) {
    valueIn(up, member, () => []).push(role);
    valueIn(down, role, () => []).push(member);
  }
  const roles = new Set([...up.keys(), ...down.keys()]);
  const knots = new Map<string, number>();
  // Whoever is done last downwards is the first of a knot upwards (Kosaraju).
  for (const first of doneLast(roles, down)) {
    const knot = knots.size;
    const open = [first];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (knots.has(at)) continue;
      knots.set(at, knot);
      for (const role of up.get(at) ?? []) if (!knots.has(role)) open.push(role);
    }
  }
  return (role) => knots.get(role) ?? -1;
}

/** In the order in which a walk leaves them, the last one first. */
function doneLast(roles: Iterable<string>, next: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done: string[] = [];
  const seen = new Set<string>();
  for (const first of roles) {
    const path = seen.has(first) ? [] : [{ role: first, after: (next.get(first) ?? []).values() }];
    seen.add(first);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { value: role, done: isDone } = top.after.next();
      if (isDone === true) {
        done.push(top.role);
        path.pop();
      } else if (!seen.has(role)) {
        seen.add(role);
        path.push({ role, after: (next.get(role) ?? []).values() });
      }
    }
  }
  return done.reverse();
}
