// What an actor's principals hold together: what one of them holds, and never more than 4 KiB.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { instantOf, type ScopeName, type ScopeSet, scopeSetOf, vocabularyOf } from '../../../engine/index.js';
import type { PolicyGrant, PolicySet, Principal } from '../../../engine/model/policy-set.js';
import type { DecisionTable } from '../../../engine/table/columns.js';
import { isHeldByAny, mergeSteps } from '../../../engine/table/merge.js';
import { bitOf } from '../../../engine/table/scope-numbers.js';
import { testRuns } from '../../support/test-runs.js';
import { anyInstant, MANY, policyOf, windowedWorld } from '../oracle/worlds.js';
import { grant, load, NOW } from '../table-world.js';
import { tableOf } from './table-of.js';

const INSTANTS = [-1, 0, 5, 10, 15, 20].map(instantOf);

function runsOf({ runStart }: DecisionTable): Int32Array {
  return runStart.filter((run) => run !== 0);
}

/** Where what is held according to the merged steps is not what one of the principals holds. */
function differences(
  table: DecisionTable,
  runs: Int32Array,
  { scopes, at }: { readonly scopes: readonly ScopeName[]; readonly at: number },
): readonly unknown[] {
  const merged = mergeSteps(table, runs);
  if (merged === null) throw new Error('it is small enough');
  const found: unknown[] = [];
  for (let place = 0; place < 2 * table.nodeRow.length; place += 1) {
    for (const scope of scopes) {
      const wanted = { place, ...bitOf(scope, table.ownScopes), at };
      const held = { runs, count: runs.length };
      const together = isHeldByAny(table, { ...held, merged }, wanted);
      if (together !== isHeldByAny(table, { ...held, merged: null }, wanted)) found.push({ place, scope, together });
    }
  }
  return found;
}

describe('what several principals hold together', () => {
  it('is what one of them holds, at every place and time, for every scope', () => {
    fc.assert(
      fc.property(windowedWorld, fc.nat(), anyInstant, (set, mask, at) => {
        const policy = load(set);
        const table = tableOf(policy);
        const runs = runsOf(table).filter((_, i) => ((mask >> i) & 1) === 1);
        if (runs.length === 0) expect(mergeSteps(table, runs)).toBeNull();
        else expect(differences(table, runs, { scopes: policy.scopes, at })).toEqual([]);
      }),
      testRuns({ usual: 100, deep: 2000 }),
    );
  });

  it('is asked of the grants only where it is held at some time', () => {
    const windows = [{}, { notBefore: instantOf(10) }, { expires: instantOf(10) }];
    const table = tableOf(
      load(
        policyOf(
          [],
          windows.map((window, i) => grant(`/n${String(i)}`, window)),
        ),
      ),
    );
    for (const at of INSTANTS)
      expect(differences(table, runsOf(table), { scopes: ['resource:read', 'resource:write'], at })).toEqual([]);
  });

  it('is the union of many sets of which few are left', () => {
    const { own, scopes } = vocabularyOf({ families: MANY });
    const inRole = (role: string): Principal => ({ kind: 'role', role });
    const picked = (number: number): ScopeSet =>
      scopeSetOf(own.filter((_, bit) => bit < 9 && (number >> bit) % 2 === 1));
    // 330 sets of one role, and those with the scopes of one, two and three others.
    const grants = [
      ...Array.from({ length: 330 }, (_, i) =>
        grant(`/n${String(i)}`, { principal: inRole('crew'), scopes: picked(i + 1) }),
      ),
      ...own
        .slice(-3)
        .map((scope, i) => grant('/', { principal: inRole(`r${String(i)}`), scopes: scopeSetOf([scope]) })),
    ];
    const roles = ['crew', 'r0', 'r1', 'r2'].map((name) => ({ name, description: null, members: [], place: null }));
    const table = tableOf(load({ ...policyOf(roles, grants), families: MANY }));
    expect(differences(table, runsOf(table), { scopes, at: NOW })).toEqual([]);
  });
});

describe('what several principals hold', () => {
  /** Each grant makes one step: what is held differs from neighbour to neighbour. */
  const stepsOf = (count: number, scopes: readonly [ScopeSet, ScopeSet]): Omit<PolicyGrant, 'id'>[] =>
    Array.from({ length: count }, (_, i) =>
      grant(`/n${String(i).padStart(4, '0')}`, { scopes: scopes[i % 2 === 0 ? 0 : 1] }),
    );
  const mergedOf = (set: PolicySet): Int32Array | null => {
    const table = tableOf(load(set));
    return mergeSteps(table, runsOf(table));
  };

  it('is merged up to 1,024 words, the heads included', () => {
    const ofSteps = (count: number): Int32Array | null =>
      mergedOf(policyOf([], stepsOf(count, [1 as ScopeSet, 2 as ScopeSet])));
    expect(ofSteps(1023)?.length).toBe(1025);
    expect(ofSteps(1024)).toBeNull();
  });

  it('is merged up to 1,024 words with the words of its sets, where families are declared', () => {
    const ofSteps = (count: number): Int32Array | null =>
      mergedOf({
        ...policyOf([], stepsOf(count, [scopeSetOf(['f00:do' as ScopeName]), 2 as ScopeSet])),
        families: MANY,
      });
    // Of three sets: none, and these two.
    expect(ofSteps(1017)?.length).toBe(1025);
    expect(ofSteps(1018)).toBeNull();
  });
});
