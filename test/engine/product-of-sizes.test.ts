// What a policy costs grows with the policy, and not with the product of two sizes that its author chooses.
import { expect, test } from '@jest/globals';
import { acceptedFindings, type CheckedPolicy, emergentChecks, formatFile } from '../../engine/compiler.js';
import { stopCpu } from '../support/cpu-time.js';
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
