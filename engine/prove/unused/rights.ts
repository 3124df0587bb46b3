// What a policy gives, as what could be dropped: its grants with each of their scopes, and its memberships. Looked up by who holds
// them.
import { addTo } from '../../model/group.js';
import { formatIdentity } from '../../model/identity.js';
import type { Instant } from '../../model/instant.js';
import { isWithin, type NamespacePath } from '../../model/namespace.js';
import { compareNumbers } from '../../model/order.js';
import type { PolicyGrant, PolicyMember, PolicySet, Principal } from '../../model/policy-set.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope } from '../../model/scope-set.js';

/** A member of a role. */
interface Membership {
  readonly role: string;
  readonly member: PolicyMember;
}

/** Grants and memberships are known by where they stand in these lists. */
export interface Rights {
  readonly grants: readonly PolicyGrant[];
  readonly memberships: readonly Membership[];
  readonly grantsOf: ReadonlyMap<PrincipalKey, readonly number[]>;
  readonly membershipsOf: ReadonlyMap<PrincipalKey, readonly number[]>;
  /** Every instant at which a window begins or ends, in order. Between two of them time changes nothing. */
  readonly cuts: readonly Instant[];
}

/** `=` and the name of a role, or an identity as text, in which no `=` can be first. */
export type PrincipalKey = string;

export function keyOf(principal: Principal): PrincipalKey {
  return principal.kind === 'role' ? roleKey(principal.role) : formatIdentity(principal.identity);
}

export function roleKey(role: string): PrincipalKey {
  return `=${role}`;
}

export function rightsOf({ grants, roles }: Pick<PolicySet, 'grants' | 'roles'>): Rights {
  const memberships = roles.flatMap(({ name, members }) => members.map((member) => ({ role: name, member })));
  const grantsOf = new Map<PrincipalKey, number[]>();
  const membershipsOf = new Map<PrincipalKey, number[]>();
  for (const [at, { principal }] of grants.entries()) addTo(grantsOf, keyOf(principal), at);
  for (const [at, { member }] of memberships.entries()) addTo(membershipsOf, keyOf(member), at);
  const cuts = cutsOf([...grants, ...memberships.map(({ member }) => member)]);
  return { grants, memberships, grantsOf, membershipsOf, cuts };
}

interface Windowed {
  readonly notBefore?: Instant | null;
  readonly expires?: Instant | null;
}

/** Every instant at which one of these begins or ends, in order. */
export function cutsOf(windowed: readonly Windowed[]): readonly Instant[] {
  const ends = windowed.flatMap(({ notBefore, expires }) => [notBefore ?? [], expires ?? []].flat());
  return [...new Set(ends)].sort(compareNumbers);
}

export function isInForce({ notBefore, expires }: Windowed, at: Instant): boolean {
  return (notBefore ?? -Infinity) <= at && at < (expires ?? Infinity);
}

/** One namespace; or, of those below it, all that no grant of the policy is nearer to. */
export interface UsedPlace {
  readonly namespace: NamespacePath;
  readonly extent: 'exact' | 'below';
}

export interface UsedScope extends UsedPlace {
  readonly scope: ScopeName;
  readonly at: Instant;
}

/** Whether the grant gives its holders the scope there and then. */
export function gives(grant: PolicyGrant, { scope, namespace, extent, at }: UsedScope): boolean {
  return (
    hasScope(grant.scopes, scope) &&
    isInForce(grant, at) &&
    isWithin(namespace, grant.namespace) &&
    (grant.inherit || (extent === 'exact' && grant.namespace === namespace))
  );
}
