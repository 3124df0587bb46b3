// Who holds which grants, read straight from a policy's declarations: used to know when answers about an actor can change,
// and to say why a test failed. Never used to decide.
import type { GrantRef } from '../../model/decision.js';
import type { Identity } from '../../model/identity.js';
import { type Instant, instantOf, windowOf } from '../../model/instant.js';
import { isWithin, type NamespacePath } from '../../model/namespace.js';
import type { PolicyGrant, PolicySet } from '../../model/policy-set.js';

/** Lists by exact (provider, subject) pair. */
type ByIdentity<T> = Map<string, Map<string, T[]>>;

export interface GrantIndex {
  readonly grants: readonly PolicyGrant[];
  readonly rolesByIdentity: ByIdentity<string>;
  /** The roles that name a role as a member. */
  readonly rolesByMember: ReadonlyMap<string, readonly string[]>;
  readonly grantsByIdentity: ByIdentity<PolicyGrant>;
  readonly grantsByRole: ReadonlyMap<string, readonly PolicyGrant[]>;
}

/** One pass over the policy. */
export function indexGrants(set: PolicySet): GrantIndex {
  const rolesByIdentity: ByIdentity<string> = new Map();
  const rolesByMember = new Map<string, string[]>();
  for (const role of set.roles) {
    for (const member of role.members) {
      if (member.kind === 'role') push(rolesByMember, member.role, role.name);
      else pushIdentity(rolesByIdentity, member.identity, role.name);
    }
  }
  const grantsByIdentity: ByIdentity<PolicyGrant> = new Map();
  const grantsByRole = new Map<string, PolicyGrant[]>();
  for (const grant of set.grants) {
    if (grant.principal.kind === 'role') push(grantsByRole, grant.principal.role, grant);
    else pushIdentity(grantsByIdentity, grant.principal.identity, grant);
  }
  return { grants: set.grants, rolesByIdentity, rolesByMember, grantsByIdentity, grantsByRole };
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

function pushIdentity<T>(map: ByIdentity<T>, identity: Identity, value: T): void {
  let subjects = map.get(identity.provider);
  if (subjects === undefined) {
    subjects = new Map();
    map.set(identity.provider, subjects);
  }
  push(subjects, identity.subject, value);
}

/** Every grant that one of the identities holds, itself or through roles, whatever its time. */
export function grantsHeldBy(index: GrantIndex, identities: readonly Identity[]): ReadonlySet<PolicyGrant> {
  const held = new Set<PolicyGrant>();
  const roles = new Set<string>();
  for (const { provider, subject } of identities) {
    for (const grant of index.grantsByIdentity.get(provider)?.get(subject) ?? []) held.add(grant);
    for (const role of index.rolesByIdentity.get(provider)?.get(subject) ?? []) roles.add(role);
  }
  // A set is walked in order of insertion, also over what is added meanwhile: the closure over nested roles.
  for (const role of roles) {
    for (const grant of index.grantsByRole.get(role) ?? []) held.add(grant);
    for (const outer of index.rolesByMember.get(role) ?? []) roles.add(outer);
  }
  return held;
}

/** A stretch of time in which nothing changes. */
export interface Interval {
  /** Its first instant; null: it has none. */
  readonly from: Instant | null;
  /** Some instant in it. */
  readonly at: Instant;
}

/** The intervals in which answers about `namespace` and what is above it can differ for who holds these grants. */
export function intervalsOf(held: ReadonlySet<PolicyGrant>, namespace: NamespacePath): readonly Interval[] {
  const cuts = new Set<number>();
  for (const grant of held) {
    if (!isWithin(namespace, grant.namespace)) continue;
    const { from, until } = windowOf(grant);
    cuts.add(from).add(until);
  }
  const sorted = [...cuts]
    .filter(Number.isFinite)
    .sort((a, b) => a - b)
    .map(instantOf);
  const first = sorted[0] ?? instantOf(0);
  return [{ from: null, at: instantOf(first - 1) }, ...sorted.map((cut) => ({ from: cut, at: cut }))];
}

export function toGrantRef(grant: PolicyGrant): GrantRef {
  return grant.place === null
    ? { id: grant.id }
    : { id: grant.id, file: grant.place.file, line: grant.place.range.start.line };
}
