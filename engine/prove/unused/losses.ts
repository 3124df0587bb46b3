// Takes rights away one after another, as long as every need is still met.
import { addTo } from '../../model/group.js';
import type { Instant } from '../../model/instant.js';
import type { ScopeName } from '../../model/scope.js';
import { scopeNames } from '../../model/scope-set.js';
import type { Need } from './needs.js';
import { keyOf, type PrincipalKey, type Rights, roleKey } from './rights.js';

interface Dropped {
  readonly grants: Set<number>;
  readonly scopes: Map<number, Set<ScopeName>>;
  readonly memberships: Set<number>;
}

export interface Losses {
  /** Whether it alone met a need, with nothing else dropped. */
  readonly needsScope: (grant: number, scope: ScopeName) => boolean;
  readonly needsMembership: (membership: number) => boolean;
  readonly lastOfGrant: (grant: number) => Instant | null;
  readonly lastOfScope: (grant: number, scope: ScopeName) => Instant | null;
  readonly lastOfMembership: (membership: number) => Instant | null;
  /** These take it away if every need is still met. */
  readonly tryGrant: (grant: number) => void;
  /** Never the last scope of a grant: that is the grant itself. */
  readonly tryScope: (grant: number, scope: ScopeName) => void;
  readonly tryMembership: (membership: number) => void;
  /** What is gone, all together. */
  readonly dropped: Dropped;
}

/** `promised` needs are met to the end as well, but say nothing about use. */
export function makeLosses(rights: Rights, needs: readonly Need[], promised: readonly Need[]): Losses {
  const { ofScope, ofMembership } = indexOf(needs);
  const more = indexOf(promised);
  const scopesOf = (grant: number): readonly ScopeName[] => {
    const found = rights.grants[grant];
    return found === undefined ? [] : scopeNames(found.scopes);
  };
  const ofGrant = (grant: number, { ofScope: of }: NeedIndex): readonly Need[] =>
    scopesOf(grant).flatMap((scope) => of(grant, scope));
  const used = { ofScope, ofMembership };
  const dropped: Dropped = { grants: new Set(), scopes: new Map(), memberships: new Set() };

  const isMet = (need: Need, gone: Dropped): boolean => {
    const wanted = new Set<PrincipalKey>();
    for (const at of need.grants) {
      const grant = rights.grants[at];
      if (grant === undefined || gone.grants.has(at) || gone.scopes.get(at)?.has(need.scope) === true) continue;
      wanted.add(keyOf(grant.principal));
    }
    return wanted.size > 0 && leads(rights, need, { wanted, gone: gone.memberships });
  };
  /** Takes it away, and gives it back if that leaves a need unmet. */
  const attempt = (
    needed: readonly Need[],
    { take, give }: { readonly take: () => void; readonly give: () => void },
  ): void => {
    take();
    if (!needed.every((need) => isMet(need, dropped))) give();
  };
  return {
    dropped,
    needsScope: (grant, scope) => ofScope(grant, scope).some(({ grants }) => grants.length === 1),
    needsMembership: (membership) => {
      const gone = { ...NOTHING, memberships: new Set([membership]) };
      return ofMembership(membership).some((need) => !isMet(need, gone));
    },
    lastOfGrant: (grant) => latest(ofGrant(grant, used)),
    lastOfScope: (grant, scope) => latest(ofScope(grant, scope)),
    lastOfMembership: (membership) => latest(ofMembership(membership)),
    tryGrant: (grant) => {
      const { grants } = dropped;
      attempt([...ofGrant(grant, used), ...ofGrant(grant, more)], {
        take: () => grants.add(grant),
        give: () => grants.delete(grant),
      });
    },
    tryScope: (grant, scope) => {
      const gone = dropped.scopes.get(grant) ?? new Set<ScopeName>();
      if (gone.size + 1 >= scopesOf(grant).length) return;
      dropped.scopes.set(grant, gone);
      attempt([...ofScope(grant, scope), ...more.ofScope(grant, scope)], {
        take: () => gone.add(scope),
        give: () => gone.delete(scope),
      });
      if (gone.size === 0) dropped.scopes.delete(grant);
    },
    tryMembership: (membership) => {
      const { memberships } = dropped;
      attempt([...ofMembership(membership), ...more.ofMembership(membership)], {
        take: () => memberships.add(membership),
        give: () => memberships.delete(membership),
      });
    },
  };
}

interface NeedIndex {
  readonly ofScope: (grant: number, scope: ScopeName) => readonly Need[];
  readonly ofMembership: (membership: number) => readonly Need[];
}

function indexOf(needs: readonly Need[]): NeedIndex {
  const byScope = new Map<string, Need[]>();
  const byMembership = new Map<number, Need[]>();
  for (const need of needs) {
    for (const grant of need.grants) addTo(byScope, keyOfScope(grant, need.scope), need);
    for (const membership of need.memberships) addTo(byMembership, membership, need);
  }
  return {
    ofScope: (grant, scope) => byScope.get(keyOfScope(grant, scope)) ?? [],
    ofMembership: (membership) => byMembership.get(membership) ?? [],
  };
}

const NOTHING: Dropped = { grants: new Set(), scopes: new Map(), memberships: new Set() };

function keyOfScope(grant: number, scope: ScopeName): string {
  return `${String(grant)} ${scope}`;
}

function latest(needs: readonly Need[]): Instant | null {
  return needs.reduce<Instant | null>((last, need) => (last === null || need.last > last ? need.last : last), null);
}

/** Whether memberships that are left lead from one of the identities to one of these principals. */
function leads(
  rights: Rights,
  { identities, memberships }: Need,
  { wanted, gone }: { readonly wanted: ReadonlySet<PrincipalKey>; readonly gone: ReadonlySet<number> },
): boolean {
  const reached = new Set<PrincipalKey>(identities);
  const left = memberships.filter((one) => !gone.has(one));
  for (const principal of reached) {
    if (wanted.has(principal)) return true;
    for (const one of left) {
      const membership = rights.memberships[one];
      if (membership !== undefined && keyOf(membership.member) === principal) reached.add(roleKey(membership.role));
    }
  }
  return false;
}
