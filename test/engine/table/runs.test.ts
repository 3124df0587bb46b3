// What each principal holds at each place, as the table has it: what its own grants say, and nothing of those that stand beside them.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  compareTexts,
  heldScopes,
  type Identity,
  instantOf,
  isWithin,
  packedOf,
  type Policy,
  type ScopeName,
  scopeNames,
  scopeSetOf,
  vocabularyOf,
} from '../../../engine/index.js';
import type { PolicyGrant } from '../../../engine/model/policy-set.js';
import { SET_BITS } from '../../../engine/table/steps.js';
import { testRuns } from '../../support/test-runs.js';
import { MANY, pathOf, policyOf } from '../oracle/worlds.js';
import { actorOf, ADA, grant, load, NOW } from '../table-world.js';
import { tableOf } from './table-of.js';

const BOB: Identity = { provider: 'orcid', subject: 'bob' };
const PATHS = ['/', '/a', '/a/b', '/a/b/c', '/a/c', '/b', '/b/a'];
const PROBES = PATHS.flatMap((path) => [path, path === '/' ? '/x' : `${path}/x`]).map(pathOf);

function heldBy(policy: Policy, identity: Identity, path: string): readonly ScopeName[] {
  const actor = { ...actorOf(identity), credentialScopes: scopeSetOf(policy.scopes) };
  return heldScopes(policy, { actor, namespace: pathOf(path), at: NOW }).map(({ scope }) => scope);
}

describe('what is held', () => {
  const anyGrant = fc
    .record({
      identity: fc.constantFrom(ADA, BOB),
      path: fc.constantFrom(...PATHS),
      scopes: fc.constantFrom<ScopeName>('resource:read', 'resource:write', 'namespace:read'),
      inherit: fc.boolean(),
      window: fc.constantFrom({}, {}, { expires: instantOf(10) }, { notBefore: instantOf(10) }),
    })
    .map(({ identity, path, scopes, inherit, window }) =>
      grant(path, { principal: { kind: 'identity', identity }, scopes: scopeSetOf([scopes]), inherit, ...window }),
    );

  const namesOf = (grants: readonly Omit<PolicyGrant, 'id'>[], identity: Identity, probe: string): unknown => {
    const own = grants.filter(
      ({ principal, namespace, inherit, notBefore }) =>
        principal.kind === 'identity' &&
        principal.identity === identity &&
        notBefore === null &&
        (probe === namespace || (inherit && isWithin(pathOf(probe), namespace))),
    );
    return [...new Set(own.flatMap(({ scopes }) => scopeNames(scopes)))].sort(compareTexts);
  };

  it('is what the own grants carry that are in force and reach the place', () => {
    fc.assert(
      fc.property(fc.array(anyGrant, { maxLength: 10 }), (grants) => {
        const policy = load(policyOf([], grants));
        for (const identity of [ADA, BOB]) {
          for (const probe of PROBES)
            expect([probe, heldBy(policy, identity, probe)]).toEqual([probe, namesOf(grants, identity, probe)]);
        }
      }),
      testRuns({ usual: 60, deep: 3000 }),
    );
  });

  it('takes words for heads and steps alone, and none for whoever has no grant', () => {
    const crew = {
      ...{ name: 'crew', description: null, place: null },
      members: [{ kind: 'identity' as const, identity: BOB, place: null }],
    };
    const cat = { kind: 'identity', identity: { provider: 'orcid', subject: 'cat' } } as const;
    const grants = [
      grant('/a'),
      grant('/b', { expires: instantOf(10) }),
      grant('/c', { principal: cat, scopes: scopeSetOf(['resource:write']) }),
    ];
    const table = tableOf(load(policyOf([crew], grants)));
    const [ofCrew, ofAda = 0, ofBob, ofCat = 0] = table.runStart;
    expect([ofCrew, ofBob]).toEqual([0, 0]);
    // The empty run; for each of the others entry and set, then heads, each with its steps; and the last entry.
    expect(table.runs.length).toBe(2 + (1 + 3 + 3) + (1 + 2) + 1);
    expect([ofAda, ofCat].map((run) => table.runs[run])).toEqual([16, (2 << SET_BITS) | 32]);
    expect((table.runs.at(-1) ?? 0) >> SET_BITS).toBe(3);
  });
});

describe('sets of scopes', () => {
  const { own } = vocabularyOf({ families: MANY });
  const picked = (number: number): readonly ScopeName[] =>
    own.filter((_, bit) => bit < 11 && (number >> bit) % 2 === 1);
  const who = (number: number): Identity => ({ provider: 'orcid', subject: `s${String(number).padStart(4, '0')}` });
  const policyOfSets = (count: number): Policy =>
    load({
      ...policyOf(
        [],
        Array.from({ length: count }, (_, i) =>
          grant('/a', { principal: { kind: 'identity', identity: who(i) }, scopes: scopeSetOf(picked(i + 1)) }),
        ),
      ),
      families: MANY,
    });

  it.each([
    ['fit into the ten bits of a step up to 1,023', 1023],
    ['take a second column beyond that', 1024],
  ])('%s', (_, count) => {
    const policy = policyOfSets(count);
    const sizes = packedOf(policy)?.table.sizes;
    expect([sizes?.runUpper, sizes?.listUpper]).toEqual(count < 1024 ? [0, 0] : [sizes?.runWords, count]);
    for (const number of [0, 1, 511, 1022, count - 1])
      expect(heldBy(policy, who(number), '/a/b')).toEqual(picked(number + 1));
  });
});
