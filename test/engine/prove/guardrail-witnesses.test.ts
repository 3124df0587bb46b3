// Witnesses where there are too many names to tell them place by place: the same facts, told once for all places that
// inherit them (`atLeast` and `atMost`), or with the identities named once (the other kinds).
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ENGINE_LIMITS, type EngineLimits } from '../../../engine/compiler.js';
import { formatIdentity, type Identity, instantOf, type ScopeSet } from '../../../engine/index.js';
import type { GuardrailRule, PolicyGrant, PolicySet } from '../../../engine/model/policy-set.js';
import { checkGuardrails, type GuardrailViolation } from '../../../engine/prove/guardrails/check-guardrails.js';
import { IDENTITIES, orOwnScopes, pathOf, policyOf, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { EVERYONE, holds, isDuring, load, TIMES } from './brute.js';

function checkOne(
  set: PolicySet,
  rule: GuardrailRule,
  limits: EngineLimits = ENGINE_LIMITS,
): GuardrailViolation | null {
  const guarded = { ...set, guardrails: [{ id: 'rule', description: null, rule, place: null }] };
  return checkGuardrails(guarded, load(guarded), limits).violations[0] ?? null;
}

const everywhere: fc.Arbitrary<GuardrailRule> = fc
  .record({
    kind: fc.constantFrom('atLeast' as const, 'atMost' as const),
    groups: fc.constant(0),
    identities: fc.integer({ min: 0, max: 3 }),
    scopes: orOwnScopes(fc.constantFrom(1, 2, 3, 16, 32, 48, 1023).map((bits) => bits as ScopeSet)),
    at: fc.constant({ kind: 'every-top-level' } as const),
  })
  .map(({ kind, ...count }) => (kind === 'atLeast' ? { kind, ...count } : { kind, ...count, ...EVERYONE }));

it('witnesses tell the same of many places at once where there are too many names', () => {
  let joined = 0;
  const property = fc.property(world, everywhere, (set, chosen) => {
    const whole = checkOne(set, chosen);
    const short = checkOne(set, chosen, { ...ENGINE_LIMITS, witnessNames: 0 });
    expect(short?.repair).toEqual(whole?.repair);
    const facts = (violation: GuardrailViolation | null): readonly string[] => {
      const all = (violation?.witnesses ?? []).flatMap((witness) => {
        const { namespace, alsoAt = [], identities, scopes, grants } = witness;
        const times = TIMES.filter((at) => isDuring(witness, at)).map(String);
        const places = [namespace, ...alsoAt].flatMap((path) => times.map((at) => `${path} @${at}`));
        joined += alsoAt.length;
        const who = identities.length === 0 ? ['nobody'] : identities;
        return places.flatMap((where) => [
          ...who.flatMap((identity) => scopes.map((scope) => `${where}: ${identity} ${scope}`)),
          ...grants.map(({ id }) => `${where}: by ${id}`),
        ]);
      });
      return [...new Set(all)].sort();
    };
    expect(facts(short)).toEqual(facts(whole));
    // Each is true by itself: whoever is named holds all its scopes in all its places by grants that it names.
    const held = holds(set);
    for (const witness of short?.witnesses ?? []) {
      const named = witness.grants.map(({ id }) => id);
      for (const who of IDENTITIES.filter((one) => witness.identities.includes(formatIdentity(one))))
        for (const path of [witness.namespace, ...(witness.alsoAt ?? [])])
          for (const at of TIMES.filter((time) => isDuring(witness, time)))
            for (const scope of witness.scopes)
              expect(
                held(who, path, at)
                  .get(scope)
                  ?.some((id) => named.includes(id)),
              ).toBe(true);
    }
  });
  fc.assert(property, testRuns({ usual: 50, deep: 100 }));
  expect(joined).toBeGreaterThan(0);
});

it('witnesses name each heir once, not once a place', () => {
  const people: readonly Identity[] = Array.from({ length: 40 }, (_, i) => ({
    provider: 'github',
    subject: `p${String(i)}`,
  }));
  const grant = (identity: Identity, path: string): Omit<PolicyGrant, 'id'> => ({
    principal: { kind: 'identity', identity },
    namespace: pathOf(path),
    scopes: 32 as ScopeSet,
    inherit: true,
    notBefore: null,
    expires: null,
    reason: null,
    place: null,
  });
  const tops = people.map((identity, i) => grant(identity, `/t${String(i)}`));
  const set = policyOf([], [...people.map((identity) => grant(identity, '/')), ...tops]);
  const at = { kind: 'every-top-level' } as const;
  const crowded = { kind: 'atMost', groups: 0, identities: 3, scopes: 32 as ScopeSet, at, ...EVERYONE } as const;
  // Those who inherit, the same at each of the 40 places, and one more grant at each.
  const names = 40 * (40 + 40 + 1 + 1);
  expect(checkOne(set, crowded, { ...ENGINE_LIMITS, witnessNames: names })?.witnesses).toHaveLength(40 * 40);
  const witnesses = checkOne(set, crowded, { ...ENGINE_LIMITS, witnessNames: names - 1 })?.witnesses ?? [];
  const sizes = witnesses.map(({ identities, alsoAt = [], grants }) =>
    [identities.length, alsoAt.length, grants.length].join(),
  );
  expect(sizes.sort()).toEqual([...people.map(() => '1,0,1'), '40,39,40'].sort());
});

const somewhere = fc.constantFrom('/', '/a').map(pathOf);
const someScopes = orOwnScopes(fc.constantFrom(1, 2, 3, 16, 32, 48, 1023).map((bits) => bits as ScopeSet));
const parties = { to: fc.constant(EVERYONE.to), except: fc.constant(EVERYONE.except) };
const ofCells: fc.Arbitrary<GuardrailRule> = fc.oneof(
  fc.record({ kind: fc.constant('never' as const), scopes: someScopes, under: somewhere, ...parties }),
  fc.record({
    kind: fc.constant('separate' as const),
    sides: fc.tuple(someScopes, someScopes),
    under: somewhere,
    ...parties,
  }),
);

it('cells that break a rule, with their grants, are the same if each set of identities is named once', () => {
  let joined = 0;
  const property = fc.property(world, ofCells, (set, rule) => {
    const whole = checkOne(set, rule);
    const short = checkOne(set, rule, { ...ENGINE_LIMITS, witnessNames: 0 });
    expect(short?.repair).toEqual(whole?.repair);
    const told = (short?.witnesses ?? []).map(({ identities }) => identities.join());
    expect(new Set(told).size).toBe(told.length);
    const spread = (short?.witnesses ?? []).flatMap(({ also = [], ...witness }) => {
      joined += also.length;
      return [witness, ...also.map((cells) => ({ identities: witness.identities, ...cells }))];
    });
    const texts = (witnesses: readonly object[]): readonly string[] =>
      witnesses.map((one) => JSON.stringify(one)).sort();
    expect(texts(spread)).toEqual(texts(whole?.witnesses ?? []));
  });
  fc.assert(property, testRuns({ usual: 100, deep: 200 }));
  expect(joined).toBeGreaterThan(10);
});

it('a report grows with the policy, not with the members of a role times the places where it breaks a rule', () => {
  const size = (count: number): number => {
    const people = Array.from({ length: count }, (_, i) => ({ provider: 'github', subject: `p${String(i)}` }));
    const members = people.map((identity) => ({ kind: 'identity' as const, identity, place: null }));
    const grants = people.map((_, i): Omit<PolicyGrant, 'id'> => ({
      principal: { kind: 'role', role: 'r' },
      namespace: pathOf(`/a/n${String(i)}`),
      scopes: (i % 2 === 0 ? 16 : 48) as ScopeSet,
      inherit: true,
      notBefore: instantOf(i),
      expires: null,
      reason: null,
      place: null,
    }));
    const set = policyOf([{ name: 'r', description: null, members, place: null }], grants);
    const apart = [16, 32].map((bits) => bits as ScopeSet);
    const violation = checkOne(
      set,
      { kind: 'separate', sides: apart, under: pathOf('/'), ...EVERYONE },
      { ...ENGINE_LIMITS, witnessNames: 1000 },
    );
    return JSON.stringify(violation).length;
  };
  expect(size(400) / size(200)).toBeLessThan(2.5);
});
