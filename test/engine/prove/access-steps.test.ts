// What an identity holds as steps over keys: against the slow evaluator at every path and instant of small worlds, and the same for
// every way of saying the same rights.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accessKey, accessOf, accessOfAll, type AccessStep } from '../../../engine/compiler.js';
import {
  formatIdentity,
  formatInstant,
  instantOf,
  type NamespacePath,
  SCOPES,
  type ScopeSet,
  NO_SCOPES,
  scopeNames,
  scopeSetOf,
} from '../../../engine/index.js';
import type { PolicyGrant } from '../../../engine/model/policy-set.js';
import { IDENTITIES, pathOf, policyOf, STRANGER, UNIVERSE, windowedWorld, world } from '../oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';
import { holds, load, TIMES } from './brute.js';

function heldIn(steps: readonly AccessStep[], path: NamespacePath, at: number): readonly string[] {
  const [, rights = []] = steps.findLast(([key]) => key <= accessKey(path)) ?? [];
  const instant = formatInstant(instantOf(at));
  return rights.findLast(([from]) => from === null || from <= instant)?.[1] ?? [];
}

const grant = (namespace: string, scopes: number, more: Partial<PolicyGrant> = {}): Omit<PolicyGrant, 'id'> => ({
  principal: { kind: 'identity', identity: STRANGER },
  namespace: pathOf(namespace),
  scopes: scopes as ScopeSet,
  ...{ inherit: true, notBefore: null, expires: null, reason: null, place: null },
  ...more,
});

describe('steps', () => {
  it('say what everybody holds everywhere at any time', () => {
    fc.assert(
      fc.property(fc.oneof(world, windowedWorld), (set) => {
        const policy = load(set);
        const held = holds(set);
        const near = [...UNIVERSE, pathOf('/a-b'), pathOf('/a.b/c'), pathOf('/a0')];
        for (const identity of IDENTITIES) {
          const steps = accessOf(policy, identity);
          for (const path of near)
            for (const at of TIMES)
              expect([path, at, heldIn(steps, path, at)]).toEqual([
                path,
                at,
                [...held(identity, path, at).keys()].sort(),
              ]);
        }
      }),
      testRuns({ usual: 25, deep: 400 }),
    );
  });

  it('rise, differ from their neighbours, and are those of exactly who ever holds anything', () => {
    fc.assert(
      fc.property(fc.oneof(world, windowedWorld), (set) => {
        const policy = load(set);
        const listed = new Map<string, string>();
        for (const { identities, steps } of accessOfAll(policy)) {
          expect(steps[0]).toEqual(['', [[null, []]]]);
          for (const [i, [key, rights]] of steps.entries()) {
            expect(JSON.stringify(rights)).not.toBe(JSON.stringify(steps[i - 1]?.[1]));
            if (i > 0) expect(key > (steps[i - 1]?.[0] ?? '')).toBe(true);
          }
          for (const identity of identities) {
            expect(listed.has(formatIdentity(identity))).toBe(false);
            listed.set(formatIdentity(identity), JSON.stringify(steps));
          }
        }
        for (const identity of [...IDENTITIES, STRANGER]) {
          const steps = accessOf(policy, identity);
          const isListed = listed.get(formatIdentity(identity));
          expect(isListed ?? '[["",[[null,[]]]]]').toBe(JSON.stringify(steps));
        }
      }),
      testRuns({ usual: 25, deep: 400 }),
    );
  });

  it('are the same for the same rights, whichever grants give them', () => {
    fc.assert(
      fc.property(world, fc.constantFrom(...UNIVERSE), fc.boolean(), (set, namespace, inherit) => {
        // Each grant in two halves of its scopes, and one more that gives nothing new.
        const halves = set.grants.flatMap((one) =>
          [0, 1]
            .map((half) => scopeSetOf(scopeNames(one.scopes).filter((_, i) => i % 2 === half)))
            .filter((scopes) => scopes !== NO_SCOPES)
            .map((scopes, i) => ({ ...one, id: `${one.id}-${String(i)}`, scopes })),
        );
        const [first] = set.grants;
        const under = first === undefined || !first.inherit ? [] : [{ ...first, id: 'again', inherit, namespace }];
        const inside = under.filter(
          (one) => first !== undefined && `${one.namespace}/`.startsWith(accessKey(first.namespace)),
        );
        const other = load({ ...set, grants: [...halves, ...inside] });
        const policy = load(set);
        for (const identity of IDENTITIES) expect(accessOf(other, identity)).toEqual(accessOf(policy, identity));
      }),
      testRuns({ usual: 25, deep: 400 }),
    );
  });

  it('are these for one policy, by hand', () => {
    const until = instantOf(Date.UTC(2027, 0, 1));
    const set = policyOf(
      [],
      [grant('/a', 0b1), grant('/a-b', 0b10, { inherit: false }), grant('/a/c', 0b10, { expires: until })],
    );
    const [one, two] = SCOPES;
    expect(accessOf(load(set), STRANGER)).toEqual([
      ['', [[null, []]]],
      ['/a-b/', [[null, [two]]]],
      ['/a-b/!', [[null, []]]],
      ['/a/', [[null, [one]]]],
      [
        '/a/c/',
        [
          [null, [one, two]],
          ['2027-01-01T00:00:00.000Z', [one]],
        ],
      ],
      ['/a/c0', [[null, [one]]]],
      ['/a0', [[null, []]]],
    ]);
  });
});
