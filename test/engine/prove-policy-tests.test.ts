// Policy tests (docs/language.md "Tests"): what passes, what fails, and what a failure says.
import { describe, expect, test } from '@jest/globals';
import { compilePolicy, type PolicyTestReport, readPolicy, runPolicyTests } from '../../engine/compiler.js';
import { loadSnapshot } from '../../engine/index.js';

const HEADER = 'bailiwick: 1\nname: facility\nproviders:\n  orcid: {}\n  github: {}\n';

const ROLES = `roles:
  staff:
    members: [orcid:ana, { role: leads }]
  leads:
    members: [orcid:lin]
  outsiders:
    members: [github:kim]
`;

const GRANTS = `grants:
  - { id: staff-reads, role: staff, namespace: /labs, scopes: ["resource:read", "process-run:read"] }
  - { id: leads-write, role: leads, namespace: /labs/optics, scopes: ["resource:write"] }
  - { id: shared, role: staff, namespace: /, inherit: false, scopes: ["resource-template:read"] }
  - { id: season, identity: orcid:ana, namespace: /labs/laser, scopes: ["process-run:write"], notBefore: 2027-01-01T00:00:00Z, expires: 2027-07-01T00:00:00Z }
  - { id: kim-only, role: outsiders, namespace: /labs/optics, scopes: ["namespace:read"] }
`;

function run(tests: string, more: Readonly<Record<string, string>> = {}): PolicyTestReport {
  const texts = {
    ...{ 'policy.yaml': HEADER, 'roles.yaml': ROLES, 'grants.yaml': GRANTS, 'tests.yaml': `tests:\n${tests}` },
    ...more,
  };
  const files = Object.entries(texts).map(([path, text]) => ({ path, bytes: new TextEncoder().encode(text) }));
  const { policy, diagnostics } = readPolicy(files);
  expect(diagnostics).toEqual([]);
  if (policy === null) throw new Error('the policy was not read');
  const compiled = compilePolicy(policy);
  if (!compiled.ok) throw new Error('the policy was not compiled');
  const loaded = loadSnapshot(compiled.snapshot.bytes);
  if (!loaded.ok) throw new Error(loaded.fault.message);
  return runPolicyTests(policy, loaded.policy);
}

const ANA = 'actor: { identities: [orcid:ana] }';

test('what holds passes, also through nested roles and in every interval', () => {
  const report = run(`
  - name: staff
    ${ANA}
    allow: ["resource:read /labs", "resource:read /labs/optics/run-7"]
    deny: ["resource:read /", "resource:write /labs", "process-run:read /other"]
    sees:
      "resource /labs/optics": [/labs/optics, /labs]
      "resource-template /labs": [/]
      "process-run /labs/optics": [/labs/optics]
      "namespace /labs": []
  - name: leads are staff
    actor: { identities: [orcid:lin] }
    allow: ["resource:read /labs/optics", "resource:write /labs/optics"]
  - name: nobody
    actor: { identities: [] }
    deny: ["resource:read /labs"]
`);
  expect(report).toMatchObject({ passed: 3, failed: 0, failures: [] });
  expect(report.results.map(({ test: name, passed }) => [name, passed])).toEqual([
    ['staff', true],
    ['leads are staff', true],
    ['nobody', true],
  ]);
});

test('a policy without tests passes none', () => {
  const none = { results: [], failures: [], failuresByResult: [], carriers: [] };
  expect(run('  []\n')).toEqual({ passed: 0, failed: 0, ...none });
});

describe('time', () => {
  const season = (at: string, list: 'allow' | 'deny'): string => `
  - name: season
    ${ANA}
${at}    ${list}: ["process-run:write /labs/laser"]
`;

  test.each([
    ['a millisecond before', '2026-12-31T23:59:59.999Z', 'deny'],
    ['at the first instant', '2027-01-01T00:00:00Z', 'allow'],
    ['a millisecond before the end', '2027-06-30T23:59:59.999Z', 'allow'],
    ['at the end', '2027-07-01T00:00:00Z', 'deny'],
  ] as const)('at a given time: %s', (_name, at, list) => {
    expect(run(season(`    at: ${at}\n`, list)).failed).toBe(0);
    expect(run(season(`    at: ${at}\n`, list === 'allow' ? 'deny' : 'allow')).failed).toBe(1);
  });

  test('without a time, allow fails before the grant begins', () => {
    const [failure] = run(season('', 'allow')).failures;
    expect(failure).toMatchObject({ expected: 'allow', actual: 'deny', step: 'no_matching_grant', at: null });
    expect(failure?.nearest).toEqual({
      grant: { id: 'season', file: 'grants.yaml', line: 5 },
      text: 'grant `season` is in force from 2027-01-01T00:00:00.000Z until 2027-07-01T00:00:00.000Z only',
    });
  });

  test('without a time, deny fails from the instant the grant begins', () => {
    const [failure] = run(season('', 'deny')).failures;
    expect(failure).toMatchObject({ expected: 'deny', actual: 'allow', at: Date.UTC(2027, 0, 1) });
    expect(failure?.grants).toEqual([{ id: 'season', file: 'grants.yaml', line: 5 }]);
  });
});

describe('a failure says where, what and why', () => {
  test('names the line of the expectation', () => {
    const report = run(`  - name: wrong\n    ${ANA}\n    deny: [ "resource:read /labs" ]\n`);
    expect(report).toMatchObject({ passed: 0, failed: 1 });
    expect(report.failures).toMatchObject([
      { test: 'wrong', file: 'tests.yaml', line: 4, request: 'resource:read /labs', expected: 'deny', actual: 'allow' },
    ]);
    expect(report.failures[0]?.grants).toEqual([{ id: 'staff-reads', file: 'grants.yaml', line: 2 }]);
  });

  test('two wrong expectations of one test are two failures and one failed test', () => {
    const report = run(
      `  - name: wrong\n    ${ANA}\n    deny: [ "resource:read /labs" ]\n    allow: [ "resource:write /" ]\n`,
    );
    expect([report.failed, report.failures.length]).toEqual([1, 2]);
  });

  test.each([
    [
      'a grant that lacks the scope',
      ANA,
      'resource:write /labs',
      'staff-reads',
      'grant `staff-reads` carries only process-run:read, resource:read',
    ],
    [
      'a grant that is not inherited',
      ANA,
      'resource-template:read /labs',
      'shared',
      'grant `shared` counts at / only (`inherit: false`)',
    ],
    [
      'a grant of others',
      ANA,
      'resource:write /labs/optics',
      'staff-reads',
      'grant `staff-reads` carries only process-run:read, resource:read',
    ],
    [
      'a grant of a role that the actor is not in',
      'actor: { identities: [orcid:zoe] }',
      'namespace:read /labs/optics',
      'kim-only',
      'grant `kim-only` is for role `outsiders`, which does not include this actor',
    ],
    [
      'a grant elsewhere',
      'actor: { identities: [github:kim] }',
      'namespace:read /labs',
      'kim-only',
      'grant `kim-only` is bound to /labs/optics, which is not /labs or above it',
    ],
    ['nothing', 'actor: { identities: [github:kim] }', 'process-template:read /', null, 'no grant comes close'],
  ])('the nearest miss: %s', (_name, actor, request, grant, text) => {
    const [failure] = run(`  - name: t\n    ${actor}\n    allow: ["${request}"]\n`).failures;
    expect(failure?.step).toBe('no_matching_grant');
    expect(failure?.nearest?.grant?.id ?? null).toBe(grant);
    expect(failure?.nearest?.text).toBe(text);
  });

  test.each([
    ['namespaceRestrictions: [/labs/laser]', 'restriction', 'the credential is restricted to /labs/laser'],
    ['namespaceRestrictions: []', 'restriction', 'the credential is restricted to no namespace at all'],
    ['credentialScopes: [resource:write]', 'credential_scope', 'the credential carries only resource:write'],
    ['credentialScopes: []', 'credential_scope', 'the credential carries no scope'],
  ])('a credential with %s', (narrowed, step, text) => {
    const [failure] = run(
      `  - name: t\n    actor: { identities: [orcid:ana], ${narrowed} }\n    allow: ["resource:read /labs/optics"]\n`,
    ).failures;
    expect(failure).toMatchObject({ step, nearest: { grant: null, text } });
  });
});

test('the nearest miss of a member who has left, and of somebody with two identities that exclude each other', () => {
  const more = {
    'policy.yaml': `${HEADER}exclusive:\n  - ["orcid:old", "github:old"]\n`,
    'more.yaml':
      'roles:\n  left: { members: [{ identity: "orcid:old", expires: 2020-01-01T00:00:00Z }] }\n' +
      'grants:\n  - { id: g, role: left, scopes: [resource:read], namespace: /x }\n',
  };
  const nearest = (identities: string): string | undefined =>
    run(`  - name: t\n    actor: { identities: [${identities}] }\n    allow: ["resource:read /x"]\n`, more).failures[0]
      ?.nearest?.text;
  expect(nearest('orcid:old')).toBe('grant `g` is held through a membership that is not in force then');
  expect(nearest('orcid:old, github:old')).toBe('nobody may have both identities (`exclusive`)');
});

describe('sees', () => {
  const sees = (line: string): PolicyTestReport => run(`  - name: t\n    ${ANA}\n    sees: { ${line} }\n`);

  test('something seen that should not be: the grants that show it', () => {
    const [failure] = sees('"resource /labs/optics": [/labs/optics]').failures;
    expect(failure).toMatchObject({
      request: 'resource /labs/optics',
      expected: ['/labs/optics'],
      actual: ['/labs', '/labs/optics'],
    });
    expect(failure?.grants?.map((grant) => grant.id)).toEqual(['staff-reads']);
  });

  test('something that should be seen and is not: the step and the nearest miss', () => {
    const [failure] = sees('"resource /labs/optics": [/, /labs, /labs/optics]').failures;
    expect(failure).toMatchObject({
      actual: ['/labs', '/labs/optics'],
      step: 'no_matching_grant',
      nearest: { grant: { id: 'shared' } },
    });
  });

  test('process runs are seen from their own namespace only', () => {
    expect(sees('"process-run /labs/optics": [/labs, /labs/optics]').failures[0]).toMatchObject({
      actual: ['/labs/optics'],
      step: 'target_relationship',
    });
  });
});
