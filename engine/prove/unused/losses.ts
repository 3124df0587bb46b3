// Takes rights away one after another, as long as every need is still met.
import { addTo, remember } from '../../model/group.js';
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

  // Needs of the same identities mostly have the same list.
  const ways = remember((memberships: readonly number[]) => waysOf(rights, memberships));
  /** The last way by which each need was met. Most rights are on no such way, and need no search. */
  const known = new Map<Need, Way>();
  const isMet = (need: Need, gone: Dropped): boolean => {
    const before = known.get(need);
    if (before !== undefined && isLeft(before, need, gone)) return true;
    const found = findWay(rights, need, ways(need.memberships), gone);
    if (found !== null) known.set(need, found);
    return found !== null;
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

/** What leads from each member: the membership, and its role. */
type Ways = ReadonlyMap<PrincipalKey, readonly { readonly membership: number; readonly role: PrincipalKey }[]>;

function waysOf(rights: Rights, memberships: readonly number[]): Ways {
  const ways = new Map<PrincipalKey, { readonly membership: number; readonly role: PrincipalKey }[]>();
  for (const membership of memberships) {
    const found = rights.memberships[membership];
    if (found !== undefined) addTo(ways, keyOf(found.member), { membership, role: roleKey(found.role) });
  }
  return ways;
}

/** A grant that meets a need, and the memberships that lead to it. */
interface Way {
  readonly grant: number;
  readonly memberships: readonly number[];
}

/** What was reached, and the memberships that lead there. */
interface Step {
  readonly principal: PrincipalKey;
  readonly memberships: readonly number[];
}

function givesStill(grant: number, { scope }: Need, gone: Dropped): boolean {
  return !gone.grants.has(grant) && gone.scopes.get(grant)?.has(scope) !== true;
}

function isLeft({ grant, memberships }: Way, need: Need, gone: Dropped): boolean {
  return givesStill(grant, need, gone) && memberships.every((one) => !gone.memberships.has(one));
}

/** A way that is left; null if there is none. */
function findWay(rights: Rights, need: Need, ways: Ways, gone: Dropped): Way | null {
  const wanted = new Map<PrincipalKey, number>();
  for (const at of need.grants) {
    const grant = rights.grants[at];
    if (grant === undefined || !givesStill(at, need, gone)) continue;
    const principal = keyOf(grant.principal);
    if (!wanted.has(principal)) wanted.set(principal, at);
  }
  const reached = new Set<PrincipalKey>(need.identities);
  const open = need.identities.map((principal): Step => ({ principal, memberships: [] }));
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    const { principal, memberships } = step;
    const grant = wanted.get(principal);
    if (grant !== undefined) return { grant, memberships };
    const next = (ways.get(principal) ?? []).filter(({ membership }) => !gone.memberships.has(membership));
    // One in the middle first: whether rights are taken away from the first on or from the last, half of them go before it.
    const middle = next.length >>> 1;
    for (const { membership, role } of [...next.slice(middle), ...next.slice(0, middle)]) {
      if (reached.has(role)) continue;
      reached.add(role);
      open.push({ principal: role, memberships: [membership, ...memberships] });
    }
  }
  return null;
}
