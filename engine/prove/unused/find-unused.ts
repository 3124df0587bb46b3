// Which rights of a policy past decisions did without, and a largest set of them that can go together. `cited`: it was among the rights
// that met a need. `needed`: it alone met one. The smaller policy meets every need, and none of what it keeps could go as well, among
// what may go at all.
import { addTo } from '../../model/group.js';
import type { Instant } from '../../model/instant.js';
import type { PolicySet } from '../../model/policy-set.js';
import type { ScopeName } from '../../model/scope.js';
import { NO_SCOPES, scopeNames, scopeSetOf, scopesWithout } from '../../model/scope-set.js';
import { type Losses, makeLosses } from './losses.js';
import type { Need } from './needs.js';
import { keyOf, type Rights, roleKey } from './rights.js';

/** How past decisions used a right. */
export interface Use {
  readonly use: 'never_cited' | 'not_needed';
  /** When it was cited last; null if never. */
  readonly last: Instant | null;
  /** Whether the smaller policy is without it. */
  readonly dropped: boolean;
}

export type UnusedRight = Use &
  (
    | { readonly kind: 'grant'; readonly grant: number }
    /** Scopes of a grant that stays for others of its scopes. */
    | { readonly kind: 'scopes'; readonly grant: number; readonly scopes: readonly ScopeName[] }
    | { readonly kind: 'member'; readonly membership: number }
  );

export interface Unused {
  /** Grants, scopes, members; each in the order of the policy. */
  readonly rights: readonly UnusedRight[];
  readonly smaller: Smaller;
}

/** What the smaller policy leaves out, by places in the lists of the rights. */
export interface Smaller {
  readonly grants: ReadonlySet<number>;
  readonly scopes: ReadonlyMap<number, ReadonlySet<ScopeName>>;
  readonly memberships: ReadonlySet<number>;
}

/** Rights that may not go, whatever was used. */
export interface Kept {
  readonly grants: ReadonlySet<number>;
  readonly memberships: ReadonlySet<number>;
}

/** `promised`: needs that are met to the end as well, but say nothing about use. */
export function findUnused(
  rights: Rights,
  needs: readonly Need[],
  { promised = [], ...kept }: Kept & { readonly promised?: readonly Need[] },
): Unused {
  const losses = makeLosses(rights, needs, promised);
  const grants: number[] = [];
  const scopes: (readonly [number, ScopeName])[] = [];
  const memberships: number[] = [];
  const alone = { grants, scopes, memberships };
  for (const [grant, { scopes: all }] of rights.grants.entries()) {
    const spare = scopeNames(all).filter((scope) => !losses.needsScope(grant, scope));
    if (spare.length === scopeNames(all).length) alone.grants.push(grant);
    else for (const scope of spare) alone.scopes.push([grant, scope]);
  }
  for (const membership of rights.memberships.keys())
    if (!losses.needsMembership(membership)) alone.memberships.push(membership);
  // The widest first, because that is what a smaller policy is to be rid of.
  const depth = (grant: number): number => rights.grants[grant]?.namespace.length ?? 0;
  const width = (grant: number): number => scopeNames(rights.grants[grant]?.scopes ?? NO_SCOPES).length;
  const wide = [...alone.grants].sort((a, b) => depth(a) - depth(b) || width(b) - width(a) || b - a);
  for (const grant of wide) if (!kept.grants.has(grant)) losses.tryGrant(grant);
  const useful = rolesThatHold(rights, losses.dropped.grants);
  for (const membership of alone.memberships) {
    const role = rights.memberships[membership]?.role;
    // Where nothing is left to hold, a member holds nothing.
    if (!kept.memberships.has(membership) && role !== undefined && useful.has(roleKey(role)))
      losses.tryMembership(membership);
  }
  for (const [grant, scope] of [...alone.scopes, ...scopesOfGrants(rights, alone.grants)])
    if (!kept.grants.has(grant) && !losses.dropped.grants.has(grant)) losses.tryScope(grant, scope);
  const { dropped } = losses;
  return { smaller: dropped, rights: rowsOf(rights, alone, losses) };
}

function scopesOfGrants({ grants }: Rights, some: readonly number[]): readonly (readonly [number, ScopeName])[] {
  return some.flatMap((at) => scopeNames(grants[at]?.scopes ?? NO_SCOPES).map((scope) => [at, scope] as const));
}

/** The roles whose members hold something, directly or through other roles, with the roles that only pass it on. */
function rolesThatHold(rights: Rights, without: ReadonlySet<number>): ReadonlySet<string> {
  const holding = new Set<string>();
  for (const [at, { principal }] of rights.grants.entries()) if (!without.has(at)) holding.add(keyOf(principal));
  const inner = new Map<string, string[]>();
  for (const { role, member } of rights.memberships) {
    if (member.kind !== 'role') continue;
    addTo(inner, roleKey(role), keyOf(member));
  }
  for (const role of holding) for (const member of inner.get(role) ?? []) holding.add(member);
  return holding;
}

interface Alone {
  readonly grants: readonly number[];
  readonly scopes: readonly (readonly [number, ScopeName])[];
  readonly memberships: readonly number[];
}

function rowsOf(rights: Rights, alone: Alone, losses: Losses): readonly UnusedRight[] {
  const { dropped } = losses;
  const use = (last: Instant | null, isDropped: boolean): Use => ({
    use: last === null ? 'never_cited' : 'not_needed',
    last,
    dropped: isDropped,
  });
  const grants = alone.grants.map((grant): UnusedRight => {
    return { kind: 'grant', grant, ...use(losses.lastOfGrant(grant), dropped.grants.has(grant)) };
  });
  // Scopes of one grant that went the same way are one row.
  const rows = new Map<string, UnusedRight & { readonly kind: 'scopes' }>();
  // Of a grant that could have been dropped, only the scopes that were.
  const parts = scopesOfGrants(rights, alone.grants).filter(
    ([grant, scope]) => dropped.scopes.get(grant)?.has(scope) === true,
  );
  for (const [grant, scope] of [...alone.scopes, ...parts]) {
    const one = use(losses.lastOfScope(grant, scope), dropped.scopes.get(grant)?.has(scope) === true);
    const key = [grant, one.use, one.last, one.dropped].join();
    rows.set(key, { kind: 'scopes', grant, scopes: [...(rows.get(key)?.scopes ?? []), scope], ...one });
  }
  const members = alone.memberships.map((membership): UnusedRight => {
    return {
      kind: 'member',
      membership,
      ...use(losses.lastOfMembership(membership), dropped.memberships.has(membership)),
    };
  });
  return [...grants, ...rows.values(), ...members];
}

/** The policy without those rights. */
export function withoutRights(set: PolicySet, smaller: Smaller): PolicySet {
  let membership = -1;
  return {
    ...set,
    roles: set.roles.map((role) => ({
      ...role,
      members: role.members.filter(() => {
        membership += 1;
        return !smaller.memberships.has(membership);
      }),
    })),
    grants: set.grants.flatMap((grant, at) => {
      const gone = smaller.scopes.get(at);
      if (smaller.grants.has(at)) return [];
      return gone === undefined ? [grant] : [{ ...grant, scopes: scopesWithout(grant.scopes, scopeSetOf(gone)) }];
    }),
  };
}
