// What a policy costs grows with the policy, and not with the product of two sizes that its author chooses.
import { expect, test } from '@jest/globals';
import {
  acceptedFindings,
  type CheckedPolicy,
  emergentChecks,
  type ExplainRequest,
  formatFile,
  takeAway,
} from '../../engine/compiler.js';
import type { Instant } from '../../engine/index.js';
import { stopCpu } from '../support/cpu-time.js';
import { load } from './prove/brute.js';
import { POLICY, readFolder } from './source/support.js';

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

const GRANT = 'identity: "orcid:x", scopes: [resource:read], namespace: /a }';

test.each([
  [
    'a comment above each of many entries',
    `grants:\n${lines(60_000, (i) => `  # ${String(i)}\n  - { id: g${String(i)}, ${GRANT}\n`)}`,
  ],
  [
    'many members on one line',
    `roles:\n  r: { members: [${lines(40_000, (i) => `${i === 0 ? '' : ', '}"orcid:u${String(i)}"`)}] }\n`,
  ],
])('%s: formatted in time', (_name, text) => {
  const cpu = stopCpu();
  expect(formatFile({ path: 'a.yaml', bytes: new TextEncoder().encode(text) }).ok).toBe(true);
  expect(cpu()).toBeLessThan(5_000);
});

function checked(text: string): CheckedPolicy {
  const reading = readFolder({ 'policy.yaml': POLICY, 'a.yaml': text });
  if (reading.policy === null) throw new Error(reading.diagnostics.map(({ message }) => message).join('\n'));
  return { digest: text, checks: null, set: reading.policy, accepted: acceptedFindings(reading.sources) };
}

test('many tests that a reviewed change and the merge drop are compared', () => {
  const policyWith = (tests: number): CheckedPolicy =>
    checked(
      `grants:\n  - { id: g, ${GRANT}\ntests:\n` +
        lines(
          tests,
          (i) => `  - { name: t${String(i)}, actor: { identities: ["orcid:x"] }, allow: [resource:read /a] }\n`,
        ),
    );
  const [base, merged] = [policyWith(30_000), policyWith(1)];
  const cpu = stopCpu();
  expect(emergentChecks(base, merged, [{ policy: merged, from: null }])).toEqual([]);
  expect(cpu()).toBeLessThan(2_500);
});

const ROLES = 4_000;
const inMany = (member: string): string =>
  lines(ROLES, (i) => `  r${String(i)}: { members: [${member}], scopes: [resource:read] }\n`);
const grantOf = (id: string, role: string): string => `  - { id: ${id}, role: ${role}, namespace: /a }\n`;

test.each([
  [
    'each with a grant',
    `roles:\n${inMany('{ identity: "orcid:u", expires: 2099-01-01T00:00:00Z }')}grants:\n${lines(ROLES, (i) => grantOf(`g${String(i)}`, `r${String(i)}`))}`,
    ROLES,
  ],
  [
    'all in one that has the grants',
    `roles:\n${inMany('"orcid:u"')}` +
      `  top: { members: [${lines(ROLES, (i) => `{ role: r${String(i)} }, `)}], scopes: [resource:read, namespace:read] }\n` +
      `grants:\n${lines(50, (i) => grantOf(`g${String(i)}`, 'top'))}`,
    1,
  ],
])('an access through many roles is taken away: %s', (_name, text, size) => {
  const { set } = checked(text);
  if (set === null) throw new Error('no policy');
  const request: ExplainRequest = {
    identities: [{ provider: 'orcid', subject: 'u' }],
    scope: 'resource:read',
    ...{ target: '/a', context: '/a', credentialScopes: null, namespaceRestrictions: null },
    at: 1_800_000_000_000 as Instant,
  };
  const policy = load(set);
  const cpu = stopCpu();
  const { edits, isComplete } = takeAway(policy, request, { set });
  expect(cpu()).toBeLessThan(10_000);
  const sizes = edits.map(({ change }) => (change.kind === 'several' ? change.changes.length : 1));
  expect([sizes[0], isComplete]).toEqual([size, false]);
});
