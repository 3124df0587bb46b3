// Proofs and tests of a policy end in bounded time whatever one of its files holds, and what is said names that file (docs/language.md
// "Limits").
import { describe, expect, it, test } from '@jest/globals';
import {
  checkGuardrails,
  compilePolicy,
  costOfTests,
  ENGINE_LIMITS,
  type EngineLimits,
  type GuardrailReport,
  type PolicySet,
  runPolicyTests,
} from '../../../engine/compiler.js';
import { stopCpu } from '../../support/cpu-time.js';
import { type Folder, readFolder } from '../source/support.js';
import { load } from './brute.js';

const POLICY = 'bailiwick: 1\nname: p\nproviders: { okta: {} }\n';

const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('');

function policyIn(folder: Folder): PolicySet {
  const { policy, diagnostics } = readFolder({ 'policy.yaml': POLICY, ...folder });
  if (policy === null) throw new Error(diagnostics.map(({ file, message }) => `${file}: ${message}`).join('\n'));
  return policy;
}

function proved(set: PolicySet, limits: Partial<EngineLimits> = {}): GuardrailReport {
  return checkGuardrails(set, load(set), { ...ENGINE_LIMITS, ...limits });
}

const GRANTS = `grants:\n${lines(50, (i) => `  - { id: g${String(i)}, identity: "okta:u${String(i)}", scopes: [resource:read], namespace: /a }\n`)}`;
const never = (id: string): string => `  - { id: ${id}, never: { scopes: [namespace:write], under: / } }\n`;

describe('guardrails', () => {
  const folder = {
    'a/team.yaml': `guardrails:\n${lines(9, (i) => never(`team-${String(i)}`))}`,
    'b.yaml': `guardrails:\n${never('ours')}`,
    'grants.yaml': GRANTS,
  };

  it('share one number of steps, and the file that takes most of them is named', () => {
    // Each of the ten looks at 50 grants and 50 identities.
    expect(proved(policyIn(folder), { proofSteps: 1_000 })).toMatchObject({ held: 10, violated: 0 });
    const { violations } = proved(policyIn(folder), { proofSteps: 950 });
    expect(violations).toMatchObject([{ guardrail: 'ours', unproved: true, witnesses: [], repair: [] }]);
    expect(violations[0]?.help).toBe(
      'the proofs of all guardrails may take 950 steps together, and those of `a/team.yaml` took 900 of them (`team-0` took 100 of them): have fewer guardrails there, narrow them with `under` or `to`, or grant to fewer groups in the same places',
    );
  });

  it('that would need the steps of trying a common repair get the repair of each', () => {
    const set = policyIn({
      ...folder,
      'a/team.yaml': `guardrails:\n${lines(2, (i) => `  - { id: team-${String(i)}, never: { scopes: [resource:read], under: /a } }\n`)}`,
    });
    const steps = [0, 1].map((more) => {
      for (let proofSteps = 1; ; proofSteps *= 2) {
        const report = proved(set, { proofSteps });
        if (report.violations.every(({ unproved }) => unproved !== true))
          return proved(set, { proofSteps: proofSteps << more }).repair;
      }
    });
    for (const repair of steps) expect(repair).toHaveLength(50);
  });

  it('say so where finding out what they rely on would take more', () => {
    const set = policyIn({
      'policy.yaml': `${POLICY}exclusive: [["okta-group:x", "okta-group:y"]]\n`,
      'g.yaml':
        'grants:\n' +
        '  - { id: x, identity: "okta-group:x", scopes: [resource:write], namespace: /a }\n' +
        '  - { id: y, identity: "okta-group:y", scopes: [process-run:write], namespace: /a }\n' +
        'guardrails:\n  - { id: apart, separate: [resource:write, process-run:write] }\n',
    });
    expect(proved(set).reliesOn).toEqual([{ guardrail: 'apart', pairs: [['okta-group:x', 'okta-group:y']] }]);
    let proofSteps = 1;
    while (proved(set, { proofSteps }).violated > 0) proofSteps += 1;
    expect(proved(set, { proofSteps })).toEqual({
      held: 1,
      violated: 0,
      violations: [],
      reliesOn: [{ guardrail: 'apart', pairs: [], unknown: true }],
    });
  });

  it('end soon, whatever a file holds', () => {
    const shapes = {
      'ten thousand that hold': lines(10_000, (i) => never(`n${String(i)}`)),
      'ten thousand that do not': lines(
        10_000,
        (i) => `  - { id: n${String(i)}, atMost: { identities: 1, scopes: ["*:read"], under: /a } }\n`,
      ),
      'groups in one place': `  - { id: n, separate: [resource:write, process-run:write] }\ngrants:\n${lines(4_000, (i) => `  - { id: w${String(i)}, identity: "okta-group:${String(i)}", scopes: [${i % 2 === 0 ? 'resource' : 'process-run'}:write], namespace: /a }\n`)}`,
    };
    for (const [shape, text] of Object.entries(shapes)) {
      const set = policyIn({ 'team.yaml': `guardrails:\n${text}`, 'grants.yaml': GRANTS });
      const policy = load(set);
      const spent = stopCpu();
      checkGuardrails(set, policy, { ...ENGINE_LIMITS, proofSteps: 10_000_000 });
      // A fortieth of the steps, in several times what they take on a busy machine.
      expect({ shape, isSoon: spent() < 15_000 }).toEqual({ shape, isSoon: true });
    }
  });

  const grantTo = (identity: string): string =>
    `  - { id: ${identity.replaceAll(/[^a-z0-9]/g, '-')}, identity: "${identity}", scopes: [resource:read], namespace: / }\n`;
  const list = (count: number, name: (i: number) => string): string =>
    Array.from({ length: count }, (_, i) => `"${name(i)}"`).join(', ');

  it('pay for the members of roles that they name', () => {
    const set = policyIn({
      'team.yaml':
        `roles:\n  big: { members: [${list(100, (i) => `okta:m${String(i)}`)}] }\n` +
        'guardrails:\n  - { id: n, never: { scopes: [namespace:write], under: /, to: { roles: [big] } } }\n',
    });
    // 100 identities, and four steps for each of them and for the role.
    expect(proved(set, { proofSteps: 504 })).toMatchObject({ held: 1 });
    expect(proved(set, { proofSteps: 503 })).toMatchObject({ violated: 1, violations: [{ unproved: true }] });
  });

  test.each<[string, Folder, Partial<EngineLimits>]>([
    [
      'many roles',
      {
        'roles.yaml': `roles:\n${lines(60_000, (i) => `  r${String(i)}: { members: ["okta:m"] }\n`)}`,
        'team.yaml': `guardrails:\n${lines(2_000, (i) => never(`n${String(i)}`).replace(' }', ', except: { roles: [r1] } }'))}`,
      },
      {},
    ],
    [
      'many namespaces at the top',
      {
        'grants.yaml': `grants:\n${lines(6_000, (i) => grantTo(`okta:u${String(i)}`).replace('namespace: /', `namespace: /n${String(i)}`))}`,
        'team.yaml': `guardrails:\n${lines(5_000, (i) => `  - { id: n${String(i)}, atMost: { identities: 1, scopes: [namespace:write], at: every-top-level } }\n`)}`,
      },
      { proofSteps: 1_000_000 },
    ],
    [
      'more guardrails than steps',
      { 'team.yaml': `guardrails:\n${lines(10_000, (i) => never(`n${String(i)}`))}`, 'grants.yaml': GRANTS },
      { proofSteps: 500_000 },
    ],
    [
      'a person with many identities',
      {
        'people.yaml': `people:\n  ana: { identities: [${list(5_000, (i) => `okta:u${String(i)}`)}] }\n`,
        'grants.yaml': `roles:\n  all: { members: [${list(5_000, (i) => `okta:u${String(i)}`)}] }\ngrants:\n  - { id: g, role: all, scopes: [resource:read], namespace: / }\n`,
        'team.yaml':
          'guardrails:\n  - { id: n, never: { scopes: [namespace:write], under: /, to: { identities: ["okta:other"] } } }\n',
      },
      {},
    ],
    [
      'groups that nobody may carry',
      {
        'policy.yaml': `${POLICY}exclusive:\n  - [${list(500, (i) => `okta:u${String(i)}`)}, ${list(500, (i) => `okta-group:g${String(i)}`)}]\n`,
        'grants.yaml': `grants:\n${lines(500, (i) => grantTo(`okta:u${String(i)}`) + grantTo(`okta-group:g${String(i)}`))}`,
        'team.yaml': `guardrails:\n${lines(30, (i) => `  - { id: n${String(i)}, never: { scopes: [namespace:write], under: /, to: { identities: [${list(500, (k) => `okta-group:g${String(k)}`)}] } } }\n`)}`,
      },
      { proofSteps: 10_000_000 },
    ],
  ])('do not cost a product of two sizes: %s', (_name, folder, limits) => {
    const set = policyIn(folder);
    const policy = load(set);
    const spent = stopCpu();
    checkGuardrails(set, policy, { ...ENGINE_LIMITS, ...limits });
    expect(spent()).toBeLessThan(2_500);
  });

  it('do not name the members of large roles again and again', () => {
    const set = policyIn({
      'team.yaml':
        `roles:\n  big: { members: [${lines(100, (i) => `${i === 0 ? '' : ', '}"okta:m${String(i)}"`)}] }\n  outer: { members: [{ role: big }] }\n` +
        `guardrails:\n${lines(3, (i) => `  - { id: n${String(i)}, never: { scopes: [namespace:write], under: /, except: { roles: [outer] } } }\n`)}`,
    });
    expect(compilePolicy(set, { ...ENGINE_LIMITS, exceptions: 303 }).ok).toBe(true);
    expect(compilePolicy(set, { ...ENGINE_LIMITS, exceptions: 302 })).toMatchObject({
      ok: false,
      diagnostics: [{ code: 'LIMIT_EXPANDED', file: 'team.yaml', range: { start: { line: 7 } } }],
    });
  });
});

describe('tests', () => {
  const asked = (identities: readonly string[], at: string): string =>
    `tests:\n  - { name: t, actor: { identities: [${identities.join(', ')}] }${at}, deny: [namespace:write /a] }\n`;

  it('cost a step for each identity, and the grants among which intervals are found', () => {
    const mine = `${GRANTS}${lines(64, (i) => `  - { id: m${String(i)}, identity: "okta:me", scopes: [resource:read], namespace: /a/${String(i)} }\n`)}`;
    const costs = (text: string, testSteps: number): boolean => {
      const set = policyIn({ 'grants.yaml': mine, 'team.yaml': text });
      return costOfTests(set, load(set), { testSteps }) === null;
    };
    const AT = ', at: 2027-01-01T00:00:00Z';
    const three = asked(['"okta:u1"', '"okta:u2"', '"okta:u3"'], AT);
    expect([costs(three, 3), costs(three, 2)]).toEqual([true, false]);
    const one = asked(['"okta:me"'], '');
    expect([costs(one, 3), costs(one, 2)]).toEqual([true, false]);
    expect(costs(asked(['"okta:me"'], AT), 1)).toBe(true);
  });

  it('that fail name the nearest grant while there are steps to find it', () => {
    const set = policyIn({
      'grants.yaml': GRANTS,
      'team.yaml': `tests:\n${lines(3, (i) => `  - { name: t${String(i)}, actor: { identities: ["okta:u1"] }, allow: [resource:write /a] }\n`)}`,
    });
    const near = (testSteps: number): readonly boolean[] =>
      runPolicyTests(set, load(set), { limits: { testSteps } }).failures.map(({ nearest }) => nearest !== undefined);
    // 50 grants are looked at in two steps, and one is for the question.
    expect(near(9)).toEqual([true, true, true]);
    expect(near(8)).toEqual([true, true, false]);
  });
});
