// A policy by its names: what an editor asks about one name must not cost as much as the whole policy. Each part is made when it is first
// asked for.
import { draftPolicy, type HeldRegion, type PolicySet, whatCan } from '../../engine/compiler.js';
import { compareTexts, formatIdentity, type Identity, type Instant } from '../../engine/index.js';
import { partOf } from './part-of-policy.js';

type Grant = PolicySet['grants'][number];
type Role = PolicySet['roles'][number];

export interface PolicyIndex {
  readonly set: PolicySet;
  readonly grant: (id: string) => Grant | undefined;
  readonly role: (name: string) => Role | undefined;
  /** Everybody in a role, directly or by other roles, sorted. */
  readonly membersOf: (role: string) => readonly string[];
  readonly grantsTo: (role: string) => readonly Grant[];
  /** What one identity holds. */
  readonly heldBy: (identity: Identity, at: Instant) => readonly HeldRegion[];
}

const made = new WeakMap<PolicySet, PolicyIndex>();

export function indexPolicy(set: PolicySet): PolicyIndex {
  const known = made.get(set);
  if (known !== undefined) return known;
  const roles = lazily(() => new Map(set.roles.map((role) => [role.name, role])));
  const grants = lazily(() => new Map(set.grants.map((grant) => [grant.id, grant])));
  const toRoles = lazily(() => {
    const byRole = new Map<string, Grant[]>();
    for (const grant of set.grants) {
      if (grant.principal.kind !== 'role') continue;
      const own = byRole.get(grant.principal.role);
      if (own === undefined) byRole.set(grant.principal.role, [grant]);
      else own.push(grant);
    }
    return byRole;
  });
  const members = new Map<string, readonly string[]>();
  const index: PolicyIndex = {
    set,
    grant: (id) => grants().get(id),
    role: (name) => roles().get(name),
    membersOf: (role) => {
      const found = members.get(role) ?? membersIn(roles(), role);
      members.set(role, found);
      return found;
    },
    grantsTo: (role) => toRoles().get(role) ?? [],
    heldBy: (identity, at) => {
      const policy = draftPolicy(partOf(set, [identity]));
      return policy === null ? [] : whatCan(policy, { identities: [identity], at });
    },
  };
  made.set(set, index);
  return index;
}

function lazily<T>(make: () => T): () => T {
  let value: { readonly made: T } | null = null;
  return () => (value ??= { made: make() }).made;
}

function membersIn(roles: ReadonlyMap<string, Role>, name: string): readonly string[] {
  const visited = new Set([name]);
  const people = new Set<string>();
  // Iterating a set also visits what is added meanwhile.
  for (const role of visited) {
    for (const member of roles.get(role)?.members ?? []) {
      if (member.kind === 'role') visited.add(member.role);
      else people.add(formatIdentity(member.identity));
    }
  }
  return [...people].sort(compareTexts);
}
