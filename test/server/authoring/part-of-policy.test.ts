// What identities hold in their part of a policy is what they hold in the whole: the tests of a policy report the same, run on either.
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { draftPolicy, type PolicySet, runPolicyTests } from '../../../engine/compiler.js';
import type { Policy } from '../../../engine/index.js';
import type { PolicyTest } from '../../../engine/model/policy-set.js';
import { partOf } from '../../../server/authoring/part-of-policy.js';
import { anyActor, anyInstant, anyPath, anyScope, exclusiveWorld } from '../../engine/oracle/worlds.js';
import { testRuns } from '../../support/test-runs.js';

const access = fc.record({ scope: anyScope, namespace: anyPath, place: fc.constant(null) });
const sight = fc.record({
  family: fc.constantFrom('resource' as const, 'namespace' as const, 'process-run' as const),
  context: anyPath,
  namespaces: fc.array(anyPath, { maxLength: 2 }),
  place: fc.constant(null),
});
const anyTest: fc.Arbitrary<PolicyTest> = fc
  .record({
    actor: anyActor.filter(({ kind }) => kind === 'request'),
    at: fc.option(anyInstant, { nil: null }),
    allow: fc.array(access, { maxLength: 3 }),
    deny: fc.array(access, { maxLength: 3 }),
    sees: fc.array(sight, { maxLength: 2 }),
  })
  .map(({ actor, ...expected }) => ({
    name: 'a test',
    identities: actor.identities,
    credentialScopes: actor.credentialScopes,
    namespaceRestrictions: actor.namespaceRestrictions ?? null,
    place: null,
    ...expected,
  }));

function draft(set: PolicySet): Policy {
  const policy = draftPolicy(set);
  if (policy === null) throw new Error('a generated world is within the limits');
  return policy;
}

it('reports of tests what the whole policy does', () => {
  let less = 0;
  fc.assert(
    fc.property(exclusiveWorld, fc.array(anyTest, { minLength: 1, maxLength: 3 }), (world, tests) => {
      const set = { ...world, tests };
      const part = partOf(
        set,
        tests.flatMap(({ identities }) => identities),
      );
      if (part.grants.length < set.grants.length) less += 1;
      expect(runPolicyTests(set, draft(part))).toEqual(runPolicyTests(set, draft(set)));
    }),
    testRuns({ usual: 150, deep: 2_000 }),
  );
  expect(less).toBeGreaterThan(0);
});
