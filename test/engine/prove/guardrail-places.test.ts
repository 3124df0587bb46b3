// Guardrails at places between and beside the namespaces of grants, and where there are none.
import { describe, expect, it, test } from '@jest/globals';
import { checkGuardrails } from '../../../engine/prove/guardrails/check-guardrails.js';
import { type Identity, type NamespacePath, type ScopeSet } from '../../../engine/index.js';
import type { GuardrailRule, PolicyGrant } from '../../../engine/model/policy-set.js';
import { IDENTITIES, pathOf, policyOf } from '../oracle/worlds.js';
import { checkOne, EVERYONE, load } from './brute.js';

const [ada, bob] = IDENTITIES;

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
    scopes: 2 as ScopeSet,
    inherit: true,
    notBefore: null,
    expires: null,
    reason: null,
    place: null,
    ...more,
  };
}

describe('places between and beside the namespaces of grants', () => {
  const never = (under: NamespacePath): GuardrailRule => ({
    kind: 'never',
    scopes: 2 as ScopeSet,
    under,
    ...EVERYONE,
  });

  test.each([
    ['inherited into a path that no grant names', grant(ada, '/a'), '/a/b/c', [['/a/b/c', 'subtree']]],
    ['not inherited, asked below', grant(ada, '/a', { inherit: false }), '/a/b', []],
    ['not inherited, asked there', grant(ada, '/a', { inherit: false }), '/a', [['/a', 'exact']]],
    ['below the asked path', grant(ada, '/a/b/c'), '/a/b', [['/a/b/c', 'subtree']]],
    ['at a sibling with a longer name', grant(ada, '/a-b'), '/a', []],
    [
      'a window without time in it',
      grant(ada, '/a', { notBefore: 10 as PolicyGrant['notBefore'], expires: 10 as PolicyGrant['expires'] }),
      '/a',
      [],
    ],
  ])('%s', (_name, given, under, expected) => {
    const violation = checkOne(policyOf([], [given]), never(pathOf(under)));
    expect((violation?.witnesses ?? []).map((witness) => [witness.namespace, witness.extent])).toEqual(expected);
  });

  it('names each grant that breaks a prohibition by itself, and those that do so alike together', () => {
    const violation = checkOne(
      policyOf([], [grant(ada, '/a'), grant(ada, '/a/b'), grant(ada, '/a')]),
      never(pathOf('/')),
    );
    const common = {
      identities: ['github:ada'],
      extent: 'subtree',
      scopes: ['namespace:write'],
      from: null,
      until: null,
    };
    expect(violation?.witnesses).toEqual([
      { ...common, namespace: '/a', grants: [{ id: 'g0' }, { id: 'g2' }] },
      { ...common, namespace: '/a/b', grants: [{ id: 'g1' }] },
    ]);
  });

  it('repairs a separation by the one grant that conflicts with many', () => {
    const write = { scopes: 32 as ScopeSet };
    const set = policyOf([], [grant(ada, '/a'), grant(ada, '/b'), grant(ada, '/', write), grant(bob, '/', write)]);
    const violation = checkOne(set, {
      kind: 'separate',
      sides: [2, 32].map((bits) => bits as ScopeSet),
      under: pathOf('/'),
      ...EVERYONE,
    });
    expect(violation?.repair).toEqual([{ id: 'g2' }]);
    expect(violation?.witnesses.map((witness) => [witness.namespace, witness.scopes, witness.grants])).toEqual([
      ['/a', ['namespace:write', 'resource:write'], [{ id: 'g0' }, { id: 'g2' }]],
      ['/b', ['namespace:write', 'resource:write'], [{ id: 'g1' }, { id: 'g2' }]],
    ]);
  });

  it('asks nothing of the top levels of a policy that has none', () => {
    const rule: GuardrailRule = {
      kind: 'atLeast',
      identities: 2,
      scopes: 2 as ScopeSet,
      at: { kind: 'every-top-level' },
    };
    expect(checkOne(policyOf([], [grant(ada, '/')]), rule)).toBeNull();
  });

  it('spares what counts nowhere once its only top level is gone', () => {
    const rule: GuardrailRule = {
      kind: 'atMost',
      groups: 0,
      identities: 0,
      scopes: 2 as ScopeSet,
      at: { kind: 'every-top-level' },
      ...EVERYONE,
    };
    const repairOf = (...below: readonly Omit<PolicyGrant, 'id'>[]): readonly string[] =>
      (checkOne(policyOf([], [grant(ada, '/'), grant(bob, '/a'), ...below]), rule)?.repair ?? []).map(({ id }) => id);
    expect(repairOf()).toEqual(['g1']);
    expect(repairOf(grant(bob, '/a/b', { inherit: false }))).toEqual(['g0', 'g1']);
  });

  it('witnesses of each identity only what it holds itself, for as long as it does', () => {
    const write = { scopes: 32 as ScopeSet };
    const set = policyOf([], [grant(ada, '/'), grant(bob, '/a', { ...write, expires: 10 as PolicyGrant['expires'] })]);
    const rule: GuardrailRule = {
      kind: 'atLeast',
      identities: 3,
      scopes: 34 as ScopeSet,
      at: { kind: 'path', path: pathOf('/a') },
    };
    const common = { namespace: '/a', extent: 'exact', from: null };
    expect(checkOne(set, rule)?.witnesses).toEqual([
      { ...common, identities: ['orcid:ada'], scopes: ['resource:write'], until: 10, grants: [{ id: 'g1' }] },
      { ...common, identities: ['github:ada'], scopes: ['namespace:write'], until: null, grants: [{ id: 'g0' }] },
    ]);
  });

  it('counts time after the last window as time', () => {
    const body = grant(ada, '/a', { expires: 10 as PolicyGrant['expires'] });
    const rule: GuardrailRule = {
      kind: 'atLeast',
      identities: 1,
      scopes: 2 as ScopeSet,
      at: { kind: 'path', path: pathOf('/a') },
    };
    expect(checkOne(policyOf([], [body]), rule)?.witnesses).toEqual([
      {
        identities: [],
        namespace: '/a',
        extent: 'exact',
        scopes: ['namespace:write'],
        from: 10,
        until: null,
        grants: [],
      },
    ]);
  });
});

it('checks nothing where nothing is declared', () => {
  const set = policyOf([], [grant(ada, '/')]);
  expect(checkGuardrails(set, load(set))).toEqual({ held: 0, violated: 0, violations: [] });
});
