// What past decisions needed: that somebody held a scope at a place and an instant. Each need is kept once, with every right that met it
// (its grants, and the memberships that lead to them), however often it came up.
import { addTo, groupBy, remember } from '../../model/group.js';
import { type Instant, instantOf } from '../../model/instant.js';
import { lineageOf, type NamespacePath, ROOT } from '../../model/namespace.js';
import { compareNumbers } from '../../model/order.js';
import type { Visible } from '../../model/decision.js';
import type { ScopeName } from '../../model/scope.js';
import { hasScope } from '../../model/scope-set.js';
import {
  cutsOf,
  gives,
  isInForce,
  keyOf,
  type PrincipalKey,
  type Rights,
  roleKey,
  type UsedPlace,
  type UsedScope,
} from './rights.js';
import { firstFrom } from '../../model/row-lists.js';
import { formatIdentity } from '../../model/identity.js';
import type { PolicySet } from '../../model/policy-set.js';
import { knowsScope, vocabularyOf } from '../../model/vocabulary.js';

/** Met as long as one of its grants is left, and a way of memberships from one of its identities to that grant. */
export interface Need {
  readonly scope: ScopeName;
  readonly identities: readonly string[];
  /** Ascending. */
  readonly grants: readonly number[];
  /** Those on any way from its identities to its grants, ascending. */
  readonly memberships: readonly number[];
  /** When it last came up. */
  last: Instant;
}

export interface Needs {
  /** An allowed access. */
  readonly addAccess: (identities: readonly string[], held: Omit<UsedScope, 'extent'>) => void;
  /** What an allowed query saw. */
  readonly addVisible: (identities: readonly string[], seen: Seen) => void;
  readonly all: () => readonly Need[];
  /** Counted without making a list. */
  readonly count: () => number;
}

export interface Seen {
  readonly scope: ScopeName;
  readonly context: NamespacePath;
  readonly reach: 'lineage' | 'exact' | 'subtree';
  readonly visible: Visible;
  readonly at: Instant;
}

/** What some identities reach in one interval of time. */
interface Reached {
  readonly identities: readonly string[];
  readonly interval: number;
  readonly principals: ReadonlySet<PrincipalKey>;
  readonly memberships: readonly number[];
  /** By namespace, each list ascending. */
  readonly grantsAt: ReadonlyMap<NamespacePath, readonly number[]>;
  /** The memberships that lead to these grants, by the grants as text. */
  readonly leading: (grants: readonly number[]) => readonly number[];
}

/** Needs that no grant of the policy meets are left out: somebody else allowed what needed them. */
export function makeNeeds(rights: Rights): Needs {
  const needs = new Map<string, Need>();
  const reached = makeReached(rights);
  const add = (who: Reached, held: UsedScope): void => {
    const key = [who.identities.join('\n'), who.interval, held.scope, held.extent, held.namespace].join('\n');
    const known = needs.get(key);
    if (known !== undefined) {
      if (held.at > known.last) known.last = held.at;
      return;
    }
    const grants = grantsAbove(who, held.namespace)
      .filter((at) => rights.grants.slice(at, at + 1).some((grant) => gives(grant, held)))
      .sort(compareNumbers);
    if (grants.length === 0) return;
    const { scope, at: last } = held;
    needs.set(key, { scope, identities: who.identities, grants, memberships: who.leading(grants), last });
  };
  return {
    addAccess: (identities, held) => {
      add(reached(identities, held.at), { ...held, extent: 'exact' });
    },
    addVisible: (identities, seen) => {
      const who = reached(identities, seen.at);
      const { scope, at } = seen;
      for (const place of placesOf(who, seen)) add(who, { ...place, scope, at });
    },
    all: () => [...needs.values()],
    count: () => needs.size,
  };
}

/** The visible set, cut where a grant of the actor begins: within each place, the same grants count everywhere. */
function placesOf(who: Reached, { context, reach, visible }: Seen): readonly UsedPlace[] {
  const roots = visible.kind === 'all' ? lineageOf(context).slice(0, 1) : visible.subtrees;
  const single = visible.kind === 'all' ? [] : visible.exact;
  const isRoot = new Set(roots);
  const isBelow = (path: NamespacePath): boolean => lineageOf(path).some((above) => isRoot.has(above));
  const exact = (namespace: NamespacePath): UsedPlace => ({ namespace, extent: 'exact' });
  if (reach !== 'subtree') {
    const targets = reach === 'exact' ? [context] : lineageOf(context);
    const sees = (path: NamespacePath): boolean => single.includes(path) || isBelow(path);
    return targets.filter(sees).map(exact);
  }
  const within = new Set([...roots, ...[...who.grantsAt.keys()].filter(isBelow)]);
  return [
    ...single.map(exact),
    ...[...within].flatMap((path): UsedPlace[] => [exact(path), { namespace: path, extent: 'below' }]),
  ];
}

/** Those at the namespace and above it. */
function grantsAbove({ grantsAt }: Reached, namespace: NamespacePath): number[] {
  return lineageOf(namespace).flatMap((path) => grantsAt.get(path) ?? []);
}

function makeReached(rights: Rights): (identities: readonly string[], at: Instant) => Reached {
  const known = new Map<string, Reached>();
  return (identities, at) => {
    // How many of the cuts are at or before the instant.
    const interval = firstFrom(rights.cuts.length, (i) => (rights.cuts[i] ?? Infinity) > at);
    const sorted = [...new Set(identities)].sort();
    const key = [interval, ...sorted].join('\n');
    let found = known.get(key);
    if (found === undefined) known.set(key, (found = reach(rights, { identities: sorted, interval, at })));
    return found;
  };
}

function reach(
  rights: Rights,
  {
    identities,
    interval,
    at,
  }: { readonly identities: readonly string[]; readonly interval: number; readonly at: Instant | 'ever' },
): Reached {
  const principals = new Set<PrincipalKey>(identities);
  const memberships: number[] = [];
  // Iterating a set also visits what is added meanwhile.
  for (const principal of principals) {
    for (const one of rights.membershipsOf.get(principal) ?? []) {
      const membership = rights.memberships[one];
      if (membership === undefined || (at !== 'ever' && !isInForce(membership.member, at))) continue;
      memberships.push(one);
      principals.add(roleKey(membership.role));
    }
  }
  memberships.sort((a, b) => a - b);
  const grants = [...principals].flatMap((one) => rights.grantsOf.get(one) ?? []).sort(compareNumbers);
  const grantsAt = groupBy(grants, (grant) => rights.grants[grant]?.namespace ?? ROOT);
  const byGrants = remember((text: string) => ({ list: leadingTo(rights, memberships, text) }));
  return { identities, interval, principals, memberships, grantsAt, leading: (some) => byGrants(some.join()).list };
}

/** Of these memberships, those on a way to one of the grants, which are given as text. */
function leadingTo(rights: Rights, memberships: readonly number[], grants: string): readonly number[] {
  const wanted = new Set(
    grants.split(',').flatMap((at) => {
      const grant = rights.grants[Number(at)];
      return grant === undefined ? [] : [keyOf(grant.principal)];
    }),
  );
  const byRole = new Map<PrincipalKey, number[]>();
  for (const one of memberships) addTo(byRole, roleKey(rights.memberships[one]?.role ?? ''), one);
  const leading: number[] = [];
  for (const principal of wanted) {
    for (const one of byRole.get(principal) ?? []) {
      leading.push(one);
      const membership = rights.memberships[one];
      if (membership !== undefined) wanted.add(keyOf(membership.member));
    }
  }
  return leading.sort((a, b) => a - b);
}

// What the tests of a policy say must be allowed, as needs: a policy that loses a right by which one of them passes would not pass its own
// tests.

export function promisedBy(set: PolicySet, rights: Rights): readonly Need[] {
  const vocabulary = vocabularyOf(set);
  const needs = makeNeeds(rights);
  const everReached = remember((key: string) =>
    reach(rights, { identities: key.split('\n'), interval: 0, at: 'ever' }),
  );
  for (const { identities, at, allow, sees } of set.tests) {
    const who = identities.map(formatIdentity);
    const seen = sees.flatMap(({ family, namespaces }) => {
      const scope = `${family}:read`;
      return knowsScope(vocabulary, scope) ? namespaces.map((namespace) => ({ scope, namespace })) : [];
    });
    for (const access of [...allow, ...seen]) {
      const instants = at === null ? turnsOf(rights, everReached(who.join('\n')), access) : [at];
      for (const instant of instants) needs.addAccess(who, { ...access, at: instant });
    }
  }
  return needs.all();
}

/** One instant of each interval in which the same rights give an access. */
function turnsOf(
  rights: Rights,
  who: Reached,
  { scope, namespace }: { readonly scope: ScopeName; readonly namespace: NamespacePath },
): readonly Instant[] {
  const grants = grantsAbove(who, namespace).flatMap((at) => rights.grants[at] ?? []);
  const cuts = cutsOf([
    ...grants.filter((grant) => hasScope(grant.scopes, scope)),
    ...who.memberships.flatMap((one) => rights.memberships[one]?.member ?? []),
  ]);
  return [instantOf((cuts[0] ?? 0) - 1), ...cuts];
}
