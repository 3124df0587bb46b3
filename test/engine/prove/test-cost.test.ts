// Tests times grants is bounded, and the file that costs is named (docs/language.md "Limits").
import { expect, test } from '@jest/globals';
import { costOfTests } from '../../../engine/compiler.js';
import { instantOf, type ScopeSet } from '../../../engine/index.js';
import type { PolicySet, PolicyTest } from '../../../engine/model/policy-set.js';
import { lineTableOf } from '../../../engine/model/span.js';
import { IDENTITIES, pathOf, policyOf } from '../oracle/worlds.js';
import { load } from './brute.js';

const [ada] = IDENTITIES;
if (ada === undefined) throw new Error('there is an identity');

function testIn(file: string, at: PolicyTest['at']): PolicyTest {
  const place = { file, lines: lineTableOf(''), start: 0, end: 0 };
  const expected = { scope: 'resource:read', namespace: pathOf('/a'), place: null } as const;
  return {
    name: 'reads',
    identities: [ada as PolicyTest['identities'][number]],
    credentialScopes: 1023 as ScopeSet,
    namespaceRestrictions: null,
    at,
    allow: [expected],
    deny: [],
    sees: [],
    place,
  };
}

test('a policy whose tests are too many questions names the file that costs most', () => {
  const grants = [0, 10, 20].map((from) => ({
    principal: { kind: 'identity' as const, identity: ada },
    namespace: pathOf('/a'),
    scopes: 16 as ScopeSet,
    inherit: true,
    notBefore: instantOf(from),
    expires: null,
    reason: null,
    place: null,
  }));
  const tests = [testIn('few.yaml', instantOf(0)), testIn('many.yaml', null), testIn('many.yaml', null)];
  const set: PolicySet = { ...policyOf([], grants), tests };
  // One question at an instant, and twice one in each of four intervals.
  expect(costOfTests(set, load(set), { testSteps: 9 })).toBeNull();
  expect(costOfTests(set, load(set), { testSteps: 8 })).toMatchObject({
    code: 'LIMIT_COUNT',
    file: 'many.yaml',
    message: expect.stringContaining('8 of them in this file'),
  });
});
