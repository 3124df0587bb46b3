// `separate` with people who share most of what they hold, as in teams and departments. The proof is made once for all who hold the same
// in one place, but what each of them also holds must still count. Compared with brute force.
import { commonScopes, haveCommon, uniteScopes } from '../../../engine/model/scope-set.js';
import { expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { formatIdentity, type Identity, instantOf, type ScopeSet, scopeNames } from '../../../engine/index.js';
import type {
  GuardrailRule,
  PolicyGrant,
  PolicyMember,
  PolicyRole,
  PolicySet,
} from '../../../engine/model/policy-set.js';
import { isAtOrBelow } from '../oracle/oracle.js';
import { INSTANTS, pathOf, policyOf } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { EVERYONE, isDuring, isInRegion, load } from './brute.js';

type SeparateRule = GuardrailRule & { readonly kind: 'separate' };
type GrantBody = Omit<PolicyGrant, 'id'>;

const PEOPLE: readonly Identity[] = Array.from({ length: 40 }, (_, i) => ({
  provider: 'orcid',
  subject: `p${String(i)}`,
}));
const TEAMS = ['t0', 't1', 't2', 't3', 't4', 't5'];
const DEPARTMENTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['d0', ['t0', 't1', 't2']],
  ['d1', ['t3', 't4', 't5']],
  ['everyone', ['d0', 'd1']],
]);
const NODES = ['/', '/a', '/a/b', '/a/b/c', '/a/d', '/e', '/e/f'];
const PATHS = NODES.flatMap((node) => [node, `${node === '/' ? '' : node}/z`]).map(pathOf);
const RESOURCE_READ = 16 as ScopeSet;
const RESOURCE_WRITE = 32 as ScopeSet;

/** Roles of each person are drawn, so that nobody is alike by construction. */
function rolesOf(teamsOf: readonly (readonly string[])[]): readonly PolicyRole[] {
  const role = (name: string, members: readonly PolicyMember[]): PolicyRole => ({
    name,
    description: null,
    members,
    place: null,
  });
  const teams = TEAMS.map((team) =>
    role(
      team,
      PEOPLE.filter((_, i) => teamsOf[i]?.includes(team) === true).map((identity) => ({
        kind: 'identity',
        identity,
        place: null,
      })),
    ),
  );
  const nested = [...DEPARTMENTS].map(([name, inner]) =>
    role(
      name,
      inner.map((member) => ({ kind: 'role', role: member, place: null })),
    ),
  );
  return [...teams, ...nested];
}

const grantBody: fc.Arbitrary<GrantBody> = fc.record({
  principal: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(...TEAMS, ...DEPARTMENTS.keys()).map((role) => ({ kind: 'role' as const, role })),
    },
    { weight: 1, arbitrary: fc.constantFrom(...PEOPLE).map((identity) => ({ kind: 'identity' as const, identity })) },
  ),
  namespace: fc.constantFrom(...NODES).map(pathOf),
  scopes: fc.constantFrom(16, 32, 48, 1, 17).map((bits) => bits as ScopeSet),
  inherit: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  notBefore: fc.option(fc.constantFrom(0, 10).map(instantOf), { freq: 2 }),
  expires: fc.option(fc.constantFrom(10, 20).map(instantOf), { freq: 2 }),
  reason: fc.constant(null),
  place: fc.constant(null),
});

const crowd: fc.Arbitrary<PolicySet> = fc
  .tuple(
    fc.array(fc.subarray(TEAMS, { minLength: 1, maxLength: 2 }), {
      minLength: PEOPLE.length,
      maxLength: PEOPLE.length,
    }),
    fc.array(grantBody, { minLength: 4, maxLength: 24, size: 'max' }),
  )
  .map(([teamsOf, grants]) => policyOf(rolesOf(teamsOf), grants));

/** `who scope path instant` of every cell that breaks the rule, with the grants that carry it. */
function brokenCells(set: PolicySet, rule: SeparateRule): ReadonlyMap<string, readonly string[]> {
  const rolesOfMember = new Map<string, Set<string>>();
  const spread = (role: string, into: string): void => {
    for (const member of set.roles.find(({ name }) => name === role)?.members ?? []) {
      if (member.kind === 'role') spread(member.role, into);
      else {
        const who = formatIdentity(member.identity);
        rolesOfMember.set(who, (rolesOfMember.get(who) ?? new Set()).add(into));
      }
    }
  };
  for (const { name } of set.roles) spread(name, name);
  const broken = new Map<string, readonly string[]>();
  for (const who of PEOPLE.map(formatIdentity)) {
    const own = set.grants.filter(({ principal }) =>
      principal.kind === 'role'
        ? rolesOfMember.get(who)?.has(principal.role) === true
        : formatIdentity(principal.identity) === who,
    );
    for (const path of PATHS.filter((one) => isAtOrBelow(one, rule.under))) {
      for (const at of INSTANTS) {
        const here = own.filter(
          ({ namespace, inherit, notBefore, expires }) =>
            (namespace === path || (inherit && isAtOrBelow(path, namespace))) &&
            (notBefore ?? -Infinity) <= at &&
            at < (expires ?? Infinity),
        );
        const held = uniteScopes(here.map(({ scopes }) => scopes));
        const touched = rule.sides.filter((side) => haveCommon(side, held));
        if (touched.length < 2) continue;
        for (const scope of scopeNames(uniteScopes(touched.map((side) => commonScopes(side, held))))) {
          const carrying = here.filter(({ scopes }) => scopeNames(scopes).includes(scope)).map(({ id }) => id);
          broken.set(`${who} ${scope} ${path} ${String(at)}`, carrying);
        }
      }
    }
  }
  return broken;
}

function check(set: PolicySet, rule: SeparateRule): GuardrailViolation | null {
  const guarded = { ...set, guardrails: [{ id: 'apart', description: null, rule, place: null }] };
  return checkGuardrails(guarded, load(guarded)).violations[0] ?? null;
}

function without(set: PolicySet, ids: readonly string[]): PolicySet {
  return { ...set, grants: set.grants.filter(({ id }) => !ids.includes(id)) };
}

const RULE: SeparateRule = {
  kind: 'separate',
  sides: [RESOURCE_READ, RESOURCE_WRITE],
  under: pathOf('/'),
  ...EVERYONE,
};

it('is broken for exactly those who hold both, each by their own grants, and repaired minimally', () => {
  const outcomes = { alone: 0, shared: 0, held: 0 };
  const rule = fc.record({
    kind: fc.constant('separate' as const),
    sides: fc.constantFrom([16, 32], [32, 1], [16, 32, 1]).map((sides) => sides.map((bits) => bits as ScopeSet)),
    under: fc.constantFrom(...NODES, '/a/z').map(pathOf),
    to: fc.constant(EVERYONE.to),
    except: fc.constant(EVERYONE.except),
  });
  const property = fc.property(crowd, rule, (set, chosen) => {
    const cells = brokenCells(set, chosen);
    const violation = check(set, chosen);
    const witnessed: string[] = [];
    for (const witness of violation?.witnesses ?? []) {
      const paths = PATHS.filter((path) => isAtOrBelow(path, chosen.under) && isInRegion(witness, path));
      const times = INSTANTS.filter((at) => isDuring(witness, at));
      const own = witness.identities.flatMap((who) =>
        paths.flatMap((path) =>
          times.flatMap((at) => witness.scopes.map((scope) => `${who} ${scope} ${path} ${String(at)}`)),
        ),
      );
      const carrying = new Set(own.flatMap((cell) => cells.get(cell) ?? []));
      expect(witness.grants.map(({ id }) => id)).toEqual([...carrying].sort());
      outcomes[witness.identities.length === 1 ? 'alone' : 'shared'] += 1;
      witnessed.push(...own);
    }
    expect(witnessed.sort()).toEqual([...cells.keys()].sort());
    if (violation === null) {
      outcomes.held += 1;
      return;
    }
    const repair = violation.repair.map(({ id }) => id);
    expect(brokenCells(without(set, repair), chosen).size).toBe(0);
    for (const spared of repair) {
      const others = repair.filter((id) => id !== spared);
      expect(brokenCells(without(set, others), chosen).size).toBeGreaterThan(0);
    }
  });
  fc.assert(property, testRuns({ usual: 20, deep: 40 }));
  expect(Math.min(outcomes.alone, outcomes.shared, outcomes.held)).toBeGreaterThan(0);
});

const member: GrantBody = {
  principal: { kind: 'role', role: 't0' },
  namespace: pathOf('/'),
  scopes: RESOURCE_READ,
  inherit: true,
  notBefore: null,
  expires: null,
  reason: null,
  place: null,
};
const WRITE = { scopes: RESOURCE_WRITE };
const MANY = 30_000;

// Each takes a moment; comparing all grants with all others would take minutes.
test.each<[string, readonly GrantBody[], { readonly witnesses: number; readonly repair: number }]>([
  [
    'where every grant conflicts with half of the others',
    Array.from({ length: MANY }, (_, i) => (i % 2 === 0 ? member : { ...member, ...WRITE })),
    { witnesses: 1, repair: MANY / 2 },
  ],
  [
    'where one grant conflicts with all others',
    [
      { ...member, ...WRITE },
      ...Array.from({ length: MANY }, (_, i) => ({ ...member, namespace: pathOf(`/n${String(i)}`) })),
    ],
    { witnesses: MANY, repair: 1 },
  ],
])('repairs %s without looking at every pair', (_name, grants, expected) => {
  const violation = check(policyOf(rolesOf([['t0']]), grants), RULE);
  expect({ witnesses: violation?.witnesses.length, repair: violation?.repair.length }).toEqual(expected);
});
