// The decision digest and the namespace digests mean what they claim: equal exactly if what is decided is equal. The judge
// is brute force over every identity, path, scope and instant of small worlds.
import { RECORD_SCOPE_SET, scopeNames, scopeSetOf } from '../../engine/model/scope-set.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { compilePolicy } from '../../engine/compiler.js';
import {
  instantOf,
  loadSnapshot,
  namespaceDigests,
  type NamespacePath,
  ROOT,
  type ScopeSet,
} from '../../engine/index.js';
import type { PolicyGrant, PolicyMember, PolicyRole, PolicySet } from '../../engine/model/policy-set.js';
import { childrenThatFit } from '../../engine/model/namespace-tree.js';
import { testRuns } from '../support/test-runs.js';
import { isAtOrBelow, oracleCells } from './oracle/oracle.js';
import {
  grantBody,
  IDENTITIES,
  INSTANTS,
  pathOf,
  policyOf,
  STRANGER,
  UNIVERSE,
  exclusiveWorld as world,
} from './oracle/worlds.js';

interface Digested {
  readonly decisions: string;
  readonly namespaces: ReadonlyMap<NamespacePath, string>;
}

function digest(set: PolicySet): Digested {
  const compiled = compilePolicy(set);
  if (!compiled.ok) throw new Error('a generated world compiles');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(`${loaded.fault.code}: ${loaded.fault.message}`);
  const listing = namespaceDigests(loaded.policy);
  if (!listing.ok) throw new Error(listing.fault.code);
  const namespaces = new Map(listing.namespaces.map((entry) => [entry.namespace, entry.digest]));
  return { decisions: compiled.snapshot.decisions, namespaces };
}

type Cells = ReadonlyMap<NamespacePath, string>;

function cellsOf(set: PolicySet): Cells {
  return oracleCells(set, { identities: [...IDENTITIES, STRANGER], paths: UNIVERSE, instants: INSTANTS });
}

function areAlike(a: Cells, b: Cells, root: NamespacePath): boolean {
  return UNIVERSE.every((path) => !isAtOrBelow(path, root) || a.get(path) === b.get(path));
}

function renumber(set: PolicySet): PolicySet {
  return { ...set, grants: set.grants.map((grant, index) => ({ ...grant, id: `e${String(index)}` })) };
}

/** One small edit, which may or may not change a decision. */
const edit: fc.Arbitrary<(set: PolicySet) => PolicySet> = fc.oneof(
  grantBody.map((grant) => (set: PolicySet) => ({ ...set, grants: [...set.grants, { ...grant, id: 'new' }] })),
  fc.nat().map((n) => (set: PolicySet) => ({
    ...set,
    grants: set.grants.filter((_, index) => index !== n % (set.grants.length || 1)),
  })),
  fc.tuple(fc.nat(), grantBody).map(
    ([n, change]) =>
      (set: PolicySet) =>
        withGrant(set, n, (grant) => [{ ...grant, scopes: change.scopes }]),
  ),
  fc.tuple(fc.nat(), grantBody).map(
    ([n, change]) =>
      (set: PolicySet) =>
        withGrant(set, n, (grant) => [{ ...grant, expires: change.expires }]),
  ),
  fc.nat().map((n) => (set: PolicySet) => withGrant(set, n, (grant) => [{ ...grant, inherit: !grant.inherit }])),
  fc.tuple(fc.nat(), fc.constantFrom(...IDENTITIES)).map(
    ([n, who]) =>
      (set: PolicySet) =>
        withRole(set, n, (role) => toggle(role, who)),
  ),
);

/** One edit that cannot change a decision. */
const refactoring: fc.Arbitrary<(set: PolicySet) => PolicySet> = fc.oneof(
  fc.constant(renameRoles),
  fc.constant((set: PolicySet) => ({
    ...set,
    name: 'other',
    grants: set.grants.map((grant) => ({ ...grant, id: `x-${grant.id}` })).reverse(),
  })),
  fc.nat().map((n) => (set: PolicySet) => withGrant(set, n, (grant) => [grant, { ...grant, id: 'again' }])),
  fc.nat().map((n) => (set: PolicySet) => withGrant(set, n, (grant) => splitScopes(grant))),
  fc.nat().map((n) => (set: PolicySet) => withGrant(set, n, (grant) => splitWindow(grant))),
  fc.nat().map((n) => (set: PolicySet) => withGrant(set, n, (grant) => toMembers(set, grant))),
  fc
    .nat()
    .map((n) => (set: PolicySet) => withGrant(set, n, (grant) => (grant.inherit ? [grant, ...below(grant)] : [grant]))),
  fc.constant((set: PolicySet) => ({ ...set, roles: [...set.roles, roleOf('idle', [STRANGER])] })),
  fc.constant((set: PolicySet) => ({
    ...set,
    roles: [...set.roles, roleOf('empty', [])],
    grants: [
      ...set.grants,
      { ...anyGrant, id: 'to-nobody', principal: { kind: 'role' as const, role: 'empty' }, namespace: pathOf('/q/r') },
    ],
  })),
);

const anyGrant: PolicyGrant = {
  id: 'any',
  principal: { kind: 'identity', identity: { provider: 'orcid', subject: 'ada' } },
  namespace: pathOf('/a'),
  scopes: RECORD_SCOPE_SET,
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
};

function roleOf(name: string, members: readonly (typeof IDENTITIES)[number][]): PolicyRole {
  return {
    name,
    description: null,
    members: members.map((identity) => ({ kind: 'identity', identity, place: null })),
    place: null,
  };
}

function withGrant(set: PolicySet, n: number, change: (grant: PolicyGrant) => readonly PolicyGrant[]): PolicySet {
  return {
    ...set,
    grants: set.grants.flatMap((grant, index) => (index === n % set.grants.length ? change(grant) : [grant])),
  };
}

function withRole(set: PolicySet, n: number, change: (role: PolicyRole) => PolicyRole): PolicySet {
  return { ...set, roles: set.roles.map((role, index) => (index === n % set.roles.length ? change(role) : role)) };
}

function toggle(role: PolicyRole, identity: (typeof IDENTITIES)[number]): PolicyRole {
  const others = role.members.filter((member) => member.kind === 'role' || member.identity !== identity);
  const members: readonly PolicyMember[] =
    others.length < role.members.length ? others : [...others, { kind: 'identity', identity, place: null }];
  return { ...role, members };
}

function renameRoles(set: PolicySet): PolicySet {
  const renamed = (name: string): string => `z-${name}`;
  return {
    ...set,
    roles: set.roles.map((role) => ({
      ...role,
      name: renamed(role.name),
      members: role.members.map((member) =>
        member.kind === 'role' ? { ...member, role: renamed(member.role) } : member,
      ),
    })),
    grants: set.grants.map((grant) =>
      grant.principal.kind === 'role'
        ? { ...grant, principal: { kind: 'role', role: renamed(grant.principal.role) } }
        : grant,
    ),
  };
}

function splitScopes(grant: PolicyGrant): readonly PolicyGrant[] {
  const names = scopeNames(grant.scopes);
  return names.map((name, index) => ({ ...grant, id: `${grant.id}-${String(index)}`, scopes: scopeSetOf([name]) }));
}

function splitWindow(grant: PolicyGrant): readonly PolicyGrant[] {
  const at = instantOf(12);
  if ((grant.notBefore ?? -Infinity) >= at || (grant.expires ?? Infinity) <= at) return [grant];
  return [
    { ...grant, expires: at },
    { ...grant, id: `${grant.id}-later`, notBefore: at },
  ];
}

/** A grant to a role as grants to its members. */
function toMembers(set: PolicySet, grant: PolicyGrant): readonly PolicyGrant[] {
  const { principal } = grant;
  if (principal.kind === 'identity') return [grant];
  const members = set.roles.find((role) => role.name === principal.role)?.members ?? [];
  return members.map((member, index) => ({ ...grant, id: `${grant.id}-${String(index)}`, principal: member }));
}

/** The same rights again where they are inherited anyway. */
function below(grant: PolicyGrant): readonly PolicyGrant[] {
  const namespace = pathOf(`${grant.namespace === '/' ? '' : grant.namespace}/b`);
  return [{ ...grant, id: `${grant.id}-below`, namespace }];
}

describe('the decision digest', () => {
  it('is equal for two policies exactly if they decide alike, and so is each namespace digest', () => {
    let alike = 0;
    let different = 0;
    let namespacesAlike = 0;
    fc.assert(
      fc.property(world, fc.array(edit, { minLength: 1, maxLength: 2 }), (set, edits) => {
        const other = renumber(edits.reduce((changed, change) => change(changed), set));
        const [a, b] = [digest(set), digest(other)];
        const [cells, others] = [cellsOf(set), cellsOf(other)];
        const same = areAlike(cells, others, ROOT);
        expect(a.decisions === b.decisions).toBe(same);
        if (same) alike += 1;
        else different += 1;
        for (const [path, own] of a.namespaces) {
          const theirs = b.namespaces.get(path);
          if (theirs === undefined) continue;
          const equal = areAlike(cells, others, path);
          expect([path, own === theirs]).toEqual([path, equal]);
          if (equal && !same) namespacesAlike += 1;
        }
      }),
      testRuns({ usual: 75, deep: 150 }),
    );
    expect([alike > 20, different > 20, namespacesAlike > 20]).toEqual([true, true, true]);
  });

  it('stays as it is under every refactoring that keeps the meaning', () => {
    fc.assert(
      fc.property(world, refactoring, (set, change) => {
        const other = change(set);
        expect(areAlike(cellsOf(set), cellsOf(other), ROOT)).toBe(true);
        expect(digest(other).decisions).toBe(digest(set).decisions);
      }),
      testRuns({ usual: 75, deep: 150 }),
    );
  });

  it('tells a namespace by what is decided there, wherever in a tree and beside whatever else it stands', () => {
    const [, ada] = IDENTITIES;
    const here = digest(policyOf([], [anyGrant])).namespaces.get(pathOf('/a'));
    const inherited = digest(
      policyOf(
        [],
        [
          { ...anyGrant, namespace: pathOf('/') },
          { ...anyGrant, namespace: pathOf('/a/b') },
        ],
      ),
    );
    expect(ada?.subject).toBe('ada');
    expect(inherited.namespaces.get(pathOf('/a'))).toBe(here);
    expect(inherited.namespaces.get(pathOf('/a/b'))).toBe(here);
    expect(inherited.decisions).not.toBe(here === undefined ? '' : digest(policyOf([], [anyGrant])).decisions);
  });
});

describe('paths at the limits', () => {
  const deep = (levels: number): NamespacePath => pathOf(`/${Array.from({ length: levels }, () => 'a').join('/')}`);
  const long = (bytes: number): NamespacePath => {
    const segments = [];
    for (let left = bytes; left > 0; left -= 64) segments.push('a'.repeat(Math.min(63, left - 1)));
    return pathOf(`/${segments.join('/')}`);
  };

  it.each([
    ['32 levels', deep(32), true],
    ['31 levels', deep(31), false],
    ['1,024 bytes', long(1024), true],
    ['1,023 bytes', long(1023), true],
    ['1,022 bytes', long(1022), false],
  ])('inheriting from %s is the same as not inheriting only where nothing can be below', (_, namespace, same) => {
    const inheriting = digest(policyOf([], [{ ...anyGrant, namespace }]));
    const exact = digest(policyOf([], [{ ...anyGrant, namespace, inherit: false }]));
    expect(inheriting.decisions === exact.decisions).toBe(same);
    expect(inheriting.namespaces.get(namespace) === exact.namespaces.get(namespace)).toBe(same);
  });

  const FIRST = Array.from('abcdefghijklmnopqrstuvwxyz0123456789_~-');

  it('counts the segments that there are', () => {
    const withRoomFor = (length: number): number => childrenThatFit(1, 1023 - length);
    expect([0, 1, 2, 3].map(withRoomFor)).toEqual([0, FIRST.length, 39 + 1600 - 1, 39 + 1599 + 64_000]);
  });

  it('does not count what is inherited by no path, where every child has grants of its own', () => {
    const above = long(1022);
    const child = (segment: string): NamespacePath => pathOf(`${above}/${segment}`);
    const read = 1 as ScopeSet;
    const both = 3 as ScopeSet;
    // Read for all 39 children and write for 20 of them: said at the parent, or said at each child.
    const atParent = [
      { ...anyGrant, namespace: above, scopes: read },
      ...FIRST.slice(0, 20).map((segment) => ({ ...anyGrant, namespace: child(segment), scopes: both })),
    ];
    const atChildren = [
      { ...anyGrant, namespace: above, scopes: read, inherit: false },
      ...FIRST.map((segment, index) => ({ ...anyGrant, namespace: child(segment), scopes: index < 20 ? both : read })),
    ];
    const [one, other] = [digest(policyOf([], atParent)), digest(policyOf([], atChildren))];
    expect(other.decisions).toBe(one.decisions);
    expect(other.namespaces.get(above)).toBe(one.namespaces.get(above));
    const withoutOne = digest(policyOf([], atChildren.slice(0, -1)));
    expect(withoutOne.decisions).not.toBe(one.decisions);
  });
});
