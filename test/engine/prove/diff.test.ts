// Differences of two policies against brute force over small worlds: rows are disjoint, cover exactly the cells that differ,
// are counted right, and say what caused them; equal policies are told equal as the decision digest tells them.
import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { type DiffRow, diffPolicies } from '../../../engine/prove/diff/diff-policies.js';
import { formatIdentity, type Identity, type NamespacePath, type ScopeSet } from '../../../engine/index.js';
import type { Place, PolicyGrant, PolicyRole, PolicySet } from '../../../engine/model/policy-set.js';
import { oracleScopes } from '../oracle/oracle.js';
import { grantBody, IDENTITIES, pathOf, policyOf, UNIVERSE, exclusiveWorld as world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { holds, isDuring, isInRegion, load, TIMES } from './brute.js';

/** Cells that `having` holds and `lacking` does not, as texts. */
function missing(having: PolicySet, lacking: PolicySet, paths = UNIVERSE): readonly string[] {
  const [has, has2] = [holds(having), holds(lacking)];
  return IDENTITIES.flatMap((identity) =>
    paths.flatMap((path) =>
      TIMES.flatMap((at) => {
        const other = has2(identity, path, at);
        return [...has(identity, path, at).keys()]
          .filter((scope) => !other.has(scope))
          .map((scope) => `${formatIdentity(identity)} ${scope} ${path} ${String(at)}`);
      }),
    ),
  );
}

function cellsOf(rows: readonly DiffRow[], paths = UNIVERSE): readonly string[] {
  return rows.flatMap((row) =>
    row.identities.flatMap((identity) =>
      paths
        .filter((path) => isInRegion(row, path))
        .flatMap((path) =>
          TIMES.filter((at) => isDuring(row, at)).flatMap((at) =>
            row.scopes.map((scope) => `${identity} ${scope} ${path} ${String(at)}`),
          ),
        ),
    ),
  );
}

/** Two worlds that have much in common: the second is the first with some of it replaced. */
const pairOfWorlds: fc.Arbitrary<readonly [PolicySet, PolicySet]> = fc.oneof(
  fc.tuple(world, world),
  fc
    .tuple(world, world, fc.array(grantBody, { maxLength: 2 }), fc.nat())
    .map(([old, other, more, left]): [PolicySet, PolicySet] => [
      old,
      {
        ...old,
        roles: left % 2 === 0 ? old.roles : other.roles,
        grants: [
          ...old.grants.filter((_, i) => i !== left % 7),
          ...more.map((grant, i) => ({ ...grant, id: `more${String(i)}` })),
        ],
      },
    ]),
);

describe('diff', () => {
  it('has rows that are disjoint and cover exactly the cells that differ', () => {
    const outcomes = { same: 0, different: 0 };
    const property = fc.property(pairOfWorlds, ([old, changed]) => {
      const [from, to] = [load(old), load(changed)];
      const report = diffPolicies(from, to);
      expect([...cellsOf(report.gained)].sort()).toEqual([...missing(changed, old)].sort());
      expect([...cellsOf(report.lost)].sort()).toEqual([...missing(old, changed)].sort());
      expect(report.equal).toBe(from.decisions === to.decisions);
      outcomes[report.equal ? 'same' : 'different'] += 1;
      for (const row of [...report.gained, ...report.lost]) expect(row.causes.length).toBeGreaterThan(0);
    });
    fc.assert(property, testRuns({ usual: 40, deep: 80 }));
    expect(Math.min(outcomes.same, outcomes.different)).toBeGreaterThan(2);
  });

  it('counts the cells that the document defines', () => {
    const property = fc.property(pairOfWorlds, ([old, changed]) => {
      const { cells } = diffPolicies(load(old), load(changed));
      const nodes = new Set<NamespacePath>([
        '/' as NamespacePath,
        ...[...old.grants, ...changed.grants].map((grant) => grant.namespace),
      ]);
      const instants = new Set(
        [...old.grants, ...changed.grants]
          .flatMap((grant) => [grant.notBefore, grant.expires])
          .filter((instant) => instant !== null),
      );
      const identities = new Set([old, changed].flatMap(namedIdentities));
      // One path and one instant for each class and interval; that below a node is a child that no grant names.
      const paths = [...nodes].flatMap((node) => [node, pathOf(node === '/' ? '/z' : `${node}/z`)]);
      const starts = [Math.min(0, ...instants) - 1, ...instants];
      const count = (having: PolicySet, lacking: PolicySet): bigint => {
        const [has, has2] = [holds(having), holds(lacking)];
        const found = IDENTITIES.flatMap((identity) =>
          paths.flatMap((path) =>
            starts.flatMap((at) =>
              [...has(identity, path, at).keys()].filter((scope) => !has2(identity, path, at).has(scope)),
            ),
          ),
        );
        return BigInt(found.length);
      };
      const scopes = new Set([old, changed].flatMap(oracleScopes));
      expect(cells.compared).toBe(BigInt(identities.size * nodes.size * 2 * scopes.size * (instants.size + 1)));
      expect(cells.gained).toBe(count(changed, old));
      expect(cells.lost).toBe(count(old, changed));
      expect(cells.equal).toBe(cells.compared - cells.gained - cells.lost);
    });
    fc.assert(property, testRuns({ usual: 30, deep: 60 }));
  });

  it('finds on the way back what it found on the way there', () => {
    fc.assert(
      fc.property(pairOfWorlds, ([old, changed]) => {
        const [there, back] = [diffPolicies(load(old), load(changed)), diffPolicies(load(changed), load(old))];
        const plain = (rows: readonly DiffRow[]): readonly object[] => rows.map(({ causes: _, ...row }) => row);
        expect(plain(back.lost)).toEqual(plain(there.gained));
        expect(plain(back.gained)).toEqual(plain(there.lost));
      }),
      testRuns({ usual: 20, deep: 40 }),
    );
  });
});

/** A site with many places, and what is below one of them. */
const PLACES = Array.from({ length: 12 }, (_, i) => `/a/n${String(i).padStart(2, '0')}`);
const SITE = ['/', '/a', ...PLACES, ...PLACES.map((place) => `${place}/x`), '/a/n00/x/y', '/a/z', '/b'].map(pathOf);

/** Many grants, all over the site. */
const site: fc.Arbitrary<PolicySet> = fc
  .tuple(
    world,
    fc.array(
      fc.tuple(grantBody, fc.constantFrom(...PLACES), fc.constantFrom('', '', '/x')).map(([body, place, below]) => ({
        ...body,
        namespace: pathOf(`${place}${below}`),
      })),
      { minLength: 10, maxLength: 25, size: 'max' },
    ),
  )
  .map(([{ roles }, grants]) => policyOf(roles, grants));

describe('a diff of many grants', () => {
  const compareExactly = (old: PolicySet, changed: PolicySet): void => {
    const report = diffPolicies(load(old), load(changed));
    expect([...cellsOf(report.gained, SITE)].sort()).toEqual([...missing(changed, old, SITE)].sort());
    expect([...cellsOf(report.lost, SITE)].sort()).toEqual([...missing(old, changed, SITE)].sort());
    for (const row of [...report.gained, ...report.lost]) expect(row.causes.length).toBeGreaterThan(0);
    expect(diffPolicies(load(old), load(changed))).toEqual(report);
  };

  it('is exact for policies that have nothing in common', () => {
    fc.assert(
      fc.property(site, site, (old, other) => {
        compareExactly(old, {
          ...other,
          roles: other.roles.map((one) => ({ ...one, members: one.members.filter(({ kind }) => kind === 'identity') })),
          grants: other.grants.map((one) => ({ ...one, id: `other-${one.id}` })),
        });
      }),
      testRuns(8),
    );
  });

  it('is exact for one grant above them all, which leaves out what was held', () => {
    let longest = 0;
    fc.assert(
      fc.property(site, grantBody, (old, body) => {
        const above = { ...body, id: 'above', namespace: pathOf('/a'), scopes: 1023 as ScopeSet, inherit: true };
        compareExactly(old, { ...old, grants: [...old.grants, above] });
        const { gained } = diffPolicies(load(old), load({ ...old, grants: [...old.grants, above] }));
        longest = Math.max(longest, ...gained.map(({ except }) => except?.length ?? 0));
      }),
      testRuns(8),
    );
    expect(longest).toBeGreaterThan(3);
  });

  it('has one row for everybody around a thousand places that were held before, and the causes of a thousand windows', () => {
    const names = Array.from({ length: 1000 }, (_, i) => `/a/n${String(i)}`);
    const before = names.map((name) => grant(ada, name));
    const around = diffPolicies(load(policyOf([], before)), load(policyOf([], [...before, grant(ada, '/a')])));
    expect(around.gained.map(({ namespace, except, causes }) => [namespace, except?.length, causes.length])).toEqual([
      ['/a', 1000, 1],
    ]);
    expect(around.visited).toEqual({ groups: 1, nodes: 1001 });
    const days = names.map((_, day) =>
      grant(ada, '/a', {
        notBefore: (2 * day) as NonNullable<PolicyGrant['notBefore']>,
        expires: (2 * day + 1) as NonNullable<PolicyGrant['expires']>,
      }),
    );
    const windows = diffPolicies(
      load(policyOf([], [grant(ada, '/b')])),
      load(policyOf([], [grant(ada, '/b'), ...days])),
    );
    expect(windows.gained).toHaveLength(1000);
    expect(
      windows.gained.map(({ from, causes }) => [from, causes.map((cause) => cause.kind === 'grant' && cause.id)]),
    ).toEqual(days.map((_, day) => [2 * day, [`g${String(day + 1)}`]]));
  });
});

function namedIdentities(set: PolicySet): readonly string[] {
  const members = set.roles
    .flatMap((role) => role.members)
    .flatMap((member) => (member.kind === 'identity' ? [member.identity] : []));
  const principals = set.grants.flatMap(({ principal }) => (principal.kind === 'identity' ? [principal.identity] : []));
  const excluding = set.exclusive.flatMap(({ identities }) => identities);
  return [...members, ...principals, ...excluding].map(formatIdentity);
}

const [ada, , bob] = IDENTITIES;

function at(file: string, line: number): Place {
  return { file, lines: Uint32Array.from({ length: line }, (_, i) => i), start: line - 1, end: line - 1 };
}

function grant(
  principal: Identity | string | undefined,
  namespace: string,
  more: Partial<PolicyGrant> = {},
): Omit<PolicyGrant, 'id'> {
  if (principal === undefined) throw new Error('the worlds have identities');
  return {
    principal:
      typeof principal === 'string' ? { kind: 'role', role: principal } : { kind: 'identity', identity: principal },
    namespace: pathOf(namespace),
    scopes: 1 as ScopeSet,
    inherit: true,
    notBefore: null,
    expires: null,
    reason: null,
    place: at('grants/a.yaml', 3),
    ...more,
  };
}

function role(name: string, members: readonly (Identity | string | undefined)[], line = 2): PolicyRole {
  return {
    name,
    description: null,
    members: members.map((member, i) => {
      if (member === undefined) throw new Error('the worlds have identities');
      const place = at('roles/r.yaml', line + 1 + i);
      return typeof member === 'string'
        ? { kind: 'role', role: member, place }
        : { kind: 'identity', identity: member, place };
    }),
    place: at('roles/r.yaml', line),
  };
}

describe('causes', () => {
  const crew = role('crew', [bob]);
  test.each([
    [
      'a grant that was added',
      policyOf([], []),
      policyOf([], [grant(ada, '/a')]),
      'gained',
      [['grant', 'added', 'g0', 'grants/a.yaml', 3]],
    ],
    [
      'a grant that was removed',
      policyOf([], [grant(ada, '/a')]),
      policyOf([], []),
      'lost',
      [['grant', 'removed', 'g0', 'grants/a.yaml', 3]],
    ],
    [
      'a grant that was changed',
      policyOf([], [grant(ada, '/a')]),
      policyOf([], [grant(ada, '/a', { scopes: 3 as ScopeSet, place: at('grants/b.yaml', 9) })]),
      'gained',
      [['grant', 'changed', 'g0', 'grants/b.yaml', 9]],
    ],
    [
      'a member that was added',
      policyOf([crew], [grant('crew', '/a')]),
      policyOf([role('crew', [ada, bob])], [grant('crew', '/a')]),
      'gained',
      [['member', 'added', 'github:ada', 'roles/r.yaml', 3]],
    ],
    [
      'a member that was removed',
      policyOf([role('crew', [ada, bob])], [grant('crew', '/a')]),
      policyOf([crew], [grant('crew', '/a')]),
      'lost',
      [['member', 'removed', 'github:ada', 'roles/r.yaml', 3]],
    ],
    [
      'a role inside a role',
      policyOf([crew, role('leads', [ada])], [grant('crew', '/a')]),
      policyOf([role('crew', [bob, 'leads']), role('leads', [ada])], [grant('crew', '/a')]),
      'gained',
      [['member', 'added', 'role leads', 'roles/r.yaml', 4]],
    ],
    [
      'a role that is new, and what it was put into',
      policyOf([crew], [grant('crew', '/a')]),
      policyOf([role('crew', [bob, 'leads']), role('leads', [ada], 20)], [grant('crew', '/a')]),
      'gained',
      [
        ['member', 'added', 'role leads', 'roles/r.yaml', 4],
        ['role', 'added', 'leads', 'roles/r.yaml', 20],
      ],
    ],
  ] as const)('%s', (_name, old, changed, direction, expected) => {
    const report = diffPolicies(load(old), load(changed));
    const rows = report[direction];
    expect(rows.map((row) => [row.namespace, row.extent, row.identities])).toEqual([['/a', 'subtree', ['github:ada']]]);
    expect(
      rows[0]?.causes.map((cause) => [
        cause.kind,
        cause.change,
        cause.kind === 'grant' ? cause.id : cause.kind === 'member' ? cause.member : cause.role,
        cause.file,
        cause.line,
      ]),
    ).toEqual(expected);
    expect(report[direction === 'gained' ? 'lost' : 'gained']).toEqual([]);
  });

  it('does not blame a change of a grant that would have given as much', () => {
    const old = policyOf([crew], [grant('crew', '/a', { scopes: 3 as ScopeSet })]);
    const changed = policyOf([role('crew', [ada, bob])], [grant('crew', '/a')]);
    const report = diffPolicies(load(old), load(changed));
    expect(report.gained.map((row) => [row.identities, row.causes.map((cause) => cause.kind)])).toEqual([
      [['github:ada'], ['member']],
    ]);
    expect(report.lost.map((row) => [row.identities, row.causes.map((cause) => cause.kind)])).toEqual([
      [['orcid:bob'], ['grant']],
    ]);
  });
});

describe('rows', () => {
  it('stay whole around what was held before, and leave it out', () => {
    const before = [grant(ada, '/a/b'), grant(ada, '/a/c', { inherit: false })];
    const report = diffPolicies(load(policyOf([], before)), load(policyOf([], [...before, grant(ada, '/a')])));
    expect(report.gained).toMatchObject([
      {
        namespace: '/a',
        extent: 'subtree',
        except: ['/a/b', '/a/c'],
        identities: ['github:ada'],
        scopes: ['namespace:read'],
        from: null,
        until: null,
      },
      { namespace: '/a/c', extent: 'below' },
    ]);
  });

  it('say when, where only a stretch of time is gained', () => {
    const [from, until] = [10, 20].map((instant) => instant as NonNullable<PolicyGrant['expires']>);
    const report = diffPolicies(
      load(policyOf([], [grant(ada, '/a', { expires: from ?? null })])),
      load(policyOf([], [grant(ada, '/a', { expires: until ?? null })])),
    );
    expect(report.gained.map((row) => [row.from, row.until])).toEqual([[10, 20]]);
    expect(report.cells).toMatchObject({ compared: 120n, gained: 2n, lost: 0n, equal: 118n });
  });

  it('are none where grants and roles were only called otherwise', () => {
    const old = policyOf([role('crew', [ada, bob])], [grant('crew', '/a')]);
    const changed = policyOf([role('team', [bob, ada])], [grant('team', '/a'), grant(ada, '/a/b')]);
    const report = diffPolicies(
      load(old),
      load({ ...changed, grants: changed.grants.map((body) => ({ ...body, id: `new-${body.id}` })) }),
    );
    expect([report.equal, report.gained, report.lost]).toEqual([true, [], []]);
  });
});

it('visits neither namespaces that did not change nor identities that are not concerned', () => {
  const wide = Array.from({ length: 400 }, (_, i) => grant(i % 2 === 0 ? ada : bob, `/a/n${String(i)}`));
  const changed = wide.map((body, i) => (i === 7 ? { ...body, scopes: 3 as ScopeSet } : body));
  const report = diffPolicies(load(policyOf([], wide)), load(policyOf([], changed)));
  expect(report.gained.map((row) => [row.namespace, row.identities])).toEqual([['/a/n7', ['orcid:bob']]]);
  expect(report.visited).toEqual({ groups: 1, nodes: 1 });
});
