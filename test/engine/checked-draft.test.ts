// A draft that is opened without file and digests decides like the compiled policy, and is refused exactly where compiling is refused,
// whatever the limits.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  checkedDraft,
  compilePolicy,
  draftPolicy,
  ENGINE_LIMITS,
  type KnownSizes,
  openCompiled,
} from '../../engine/compiler.js';
import { makePolicy } from '../../engine/evaluate/policy.js';
import {
  decide,
  isRecordScope,
  packedOf,
  type Policy,
  scopeNames,
  type ScopeSet,
  scopeSetOf,
} from '../../engine/index.js';
import type { PolicySet } from '../../engine/model/policy-set.js';
import { testRuns } from '../support/test-runs.js';
import { anyActor, anyInstant, anyPath, anyScope, exclusiveWorld } from './oracle/worlds.js';

function compiledPolicy(set: PolicySet): Policy {
  const compiled = compilePolicy(set);
  const opened = compiled.ok ? openCompiled(compiled.snapshot) : null;
  if (opened?.ok !== true) throw new Error('a generated world compiles');
  return opened.policy;
}

/** Without time, what a draft needs is bounded in another way. */
const timeless = exclusiveWorld.map(({ families: _, ...set }): PolicySet => ({
  ...set,
  roles: set.roles.map((role) => ({
    ...role,
    members: role.members.map((member) => ({ ...member, notBefore: null, expires: null })),
  })),
  grants: set.grants.map((grant) => ({ ...grant, scopes: recordPart(grant.scopes), notBefore: null, expires: null })),
}));
const anyWorld = fc.oneof(exclusiveWorld, timeless);

const recordPart = (scopes: ScopeSet): ScopeSet => scopeSetOf(scopeNames(scopes).filter(isRecordScope));

const anyQuestion = fc.record({
  actor: anyActor,
  request: fc.record({ kind: fc.constant('access' as const), scope: anyScope, context: anyPath, target: anyPath }),
  at: anyInstant,
});

/** Limits around what small worlds need. */
const anyLimits = fc.record({
  expandedRows: fc.integer({ min: 0, max: 60 }),
  intervals: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constant(ENGINE_LIMITS.intervals)),
  snapshotBytes: fc.oneof(fc.integer({ min: 500, max: 3000 }), fc.constant(ENGINE_LIMITS.snapshotBytes)),
  grants: fc.constant(ENGINE_LIMITS.grants),
  namespaces: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(ENGINE_LIMITS.namespaces)),
});

describe('a checked draft', () => {
  it('decides like the compiled policy, grants and all', () => {
    fc.assert(
      fc.property(anyWorld, fc.array(anyQuestion, { minLength: 10, maxLength: 30 }), (set, questions) => {
        const draft = checkedDraft(set);
        if (!draft.ok) throw new Error('a generated world is within the limits');
        const compiled = compiledPolicy(set);
        for (const question of questions) expect(decide(draft.policy, question)).toEqual(decide(compiled, question));
      }),
      testRuns({ usual: 60, deep: 600 }),
    );
  });

  it('makes its decision table once, when it first decides or is handed over', () => {
    const [set = null] = fc.sample(exclusiveWorld, 1);
    const draft = set === null ? null : draftPolicy(set);
    const packed = draft === null ? null : packedOf(draft);
    if (packed === null) throw new Error('a generated world is within the limits');
    const { facts, table } = packed;
    let made = 0;
    const build = (): typeof table => {
      made += 1;
      return table;
    };
    const [deciding, handed] = [0, 1].map(() => makePolicy(facts, { table: build, source: null }));
    if (deciding === undefined || handed === undefined) throw new Error('there are two');
    expect(made).toBe(0);
    for (const question of fc.sample(anyQuestion, 3)) decide(deciding, question);
    expect(made).toBe(1);
    expect([packedOf(handed), packedOf(handed)]).toEqual([packed, packed]);
    expect(made).toBe(2);
  });

  it('is refused where compiling is refused, with the same diagnostics, whatever was counted before', () => {
    const seen = { refused: 0, passed: 0 };
    fc.assert(
      fc.property(fc.array(anyWorld, { minLength: 1, maxLength: 4 }), anyLimits, (versions, some) => {
        const limits = { ...ENGINE_LIMITS, ...some };
        let sizes: KnownSizes | null = null;
        for (const set of versions) {
          const draft = checkedDraft(set, limits, { before: sizes });
          const compiled = compilePolicy(set, limits);
          expect(draft.ok).toBe(compiled.ok);
          if (!draft.ok && !compiled.ok) expect(draft.diagnostics).toEqual(compiled.diagnostics);
          if (draft.ok) sizes = draft.sizes;
          seen[draft.ok ? 'passed' : 'refused'] += 1;
        }
      }),
      testRuns({ usual: 400, deep: 4000 }),
    );
    expect(seen.refused).toBeGreaterThan(20);
    expect(seen.passed).toBeGreaterThan(20);
  });
});
