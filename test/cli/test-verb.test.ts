// test as a user runs it: results, coverage of grants, thresholds, and the exit statuses.
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { readXml } from '../support/strict-xml.js';
import { makeFolder } from '../support/temp-folder.js';
import { BROKEN, FAILING, PASSING, POLICY } from './policies.js';

/** Two grants together carry one access; one more is only denied, one only seen, one in a later interval, one never. */
const GRANTS = `grants:
  - { id: both-1, identity: orcid:bo, scopes: [resource:read], namespace: /a }
  - { id: both-2, identity: orcid:bo, scopes: ["*:read"], namespace: /a/b }
  - { id: seen, identity: orcid:cy, scopes: [namespace:read], namespace: /c }
  - { id: later, identity: orcid:dee, scopes: [resource:write], notBefore: 2027-01-01T00:00:00Z, namespace: /d }
  - { id: never, identity: orcid:cy, scopes: [process-run:read], namespace: /e }
`;
const TESTS = `tests:
  - name: together
    actor: { identities: [orcid:bo] }
    allow: [resource:read /a/b]
    deny: [process-run:write /e]
  - name: seen
    actor: { identities: [orcid:cy] }
    sees: { namespace /c/x: [/c, /c/x] }
  - name: later
    actor: { identities: [orcid:dee] }
    at: 2027-06-01T00:00:00Z
    allow: [resource:write /d]
`;

async function json(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly status: number | null; readonly report: object }> {
  const { status, stdout } = await runCli(['test', '.', ...args, '--format', 'json'], { cwd });
  return { status, report: JSON.parse(stdout) as object };
}

describe('test', () => {
  test('results of every test, in their order; a failed one is exit 4', async () => {
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'b.yaml': FAILING });
    const { status, report } = await json([], cwd);
    expect(status).toBe(4);
    expect(report).toMatchObject({
      passed: 1,
      failed: 1,
      results: [
        { test: 'staff', file: 'a.yaml', line: 2, passed: true },
        { test: 'too much', file: 'b.yaml', line: 2, passed: false },
      ],
      failures: [{ test: 'too much', expected: 'deny', actual: 'allow' }],
      error: { code: 'policy.tests_failed' },
    });
    expect(report).not.toHaveProperty('coverage');
    expect((await runCli(['test', '.'], { cwd })).stdout).toMatch(
      /^b\.yaml:4 failed too much: [^]*\n1 of 2 tests failed\n$/,
    );
  });

  test('--run picks tests by name, and one that picks none is a mistake', async () => {
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'b.yaml': FAILING });
    expect(await json(['--run', '^sta'], cwd)).toMatchObject({
      status: 0,
      report: { passed: 1, failed: 0, results: [{ test: 'staff' }] },
    });
    expect(await json(['--run', 'nothing'], cwd)).toMatchObject({
      status: 2,
      report: { error: { message: 'no test matches `nothing`' } },
    });
    expect((await json(['--run', '('], cwd)).status).toBe(2);
  });

  test('a grant is covered if it carries what a test expects, alone or together, in some interval', async () => {
    const cwd = await makeFolder({ 'policy.yaml': POLICY['policy.yaml'], 'grants.yaml': GRANTS, 'tests.yaml': TESTS });
    const { status, report } = await json(['--coverage'], cwd);
    expect(status).toBe(0);
    expect(report).toMatchObject({
      passed: 3,
      coverage: {
        grants: { total: 5, covered: 4, pinned: 2, uncovered: [{ id: 'never', file: 'grants.yaml', line: 6 }] },
      },
    });
    expect(await json(['--coverage', '--run', 'seen'], cwd)).toMatchObject({
      report: { coverage: { grants: { covered: 1 } } },
    });
    expect((await runCli(['test', '.', '--coverage'], { cwd })).stdout).toBe(
      'not covered: never (grants.yaml:6)\n4 of 5 grants covered (80%); tests would notice the loss of 2 of them\n3 tests passed\n',
    );
  });

  test('a threshold that is not reached is exit 4', async () => {
    const cwd = await makeFolder({ 'policy.yaml': POLICY['policy.yaml'], 'grants.yaml': GRANTS, 'tests.yaml': TESTS });
    expect(await json(['--threshold', '80'], cwd)).toMatchObject({
      status: 0,
      report: { coverage: { grants: { covered: 4 } } },
    });
    expect(await json(['--threshold', '80.1'], cwd)).toMatchObject({
      status: 4,
      report: {
        failed: 0,
        error: { code: 'policy.coverage', message: '80% of the grants are covered, and 80.1% are required' },
      },
    });
    for (const wrong of ['101', '-1', 'most']) expect((await json([`--threshold=${wrong}`], cwd)).status).toBe(2);
  });

  test('guardrails are not its business; an invalid policy is exit 3 with its mistakes', async () => {
    const violated = 'guardrails:\n  - { id: g, never: { scopes: [resource:write], under: / } }\n';
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'g.yaml': violated });
    expect((await json([], cwd)).status).toBe(0);
    const broken = await makeFolder({ ...POLICY, 'a.yaml': BROKEN });
    expect(await json([], broken)).toMatchObject({
      status: 3,
      report: {
        passed: 0,
        diagnostics: [{ code: 'ROLE_UNKNOWN' }, { code: 'SCOPE_UNKNOWN' }],
        error: { code: 'policy.invalid' },
      },
    });
    expect((await runCli(['test', '.'], { cwd: broken })).stdout).toContain('a.yaml:5:14 error SCOPE_UNKNOWN');
  });

  test('junit for the test report of a build', async () => {
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'b.yaml': FAILING });
    const { stdout, status } = await runCli(['test', '.', '--format', 'junit'], { cwd });
    expect(status).toBe(4);
    const suite = readXml(stdout).children.find(({ attributes }) => attributes['name'] === 'tests');
    expect(suite?.attributes).toMatchObject({ tests: '2', failures: '1' });
  });

  test('junit says nothing of guardrails, which are not checked', async () => {
    const guardrails = 'guardrails:\n  - id: nobody-writes\n    never: { scopes: [resource:write], under: /labs }\n';
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'guardrails.yaml': guardrails });
    const suites = async (verb: string): Promise<unknown> => {
      const { stdout, status } = await runCli([verb, '.', '--format', 'junit'], { cwd });
      return [status, readXml(stdout).children.map(({ attributes }) => attributes['name'])];
    };
    expect(await suites('test')).toEqual([0, ['files', 'tests']]);
    expect(await suites('check')).toEqual([5, ['files', 'tests', 'guardrails']]);
  });

  test('junit has what is asked of the coverage as a case of its own, next to tests that fail', async () => {
    const uncovered = await makeFolder({ ...POLICY, 'a.yaml': PASSING, 'grants/more.yaml': GRANTS });
    const failing = await makeFolder({ ...POLICY, 'a.yaml': FAILING, 'grants/more.yaml': GRANTS });
    const required = async (cwd: string, threshold: string): Promise<unknown> => {
      const { stdout, status } = await runCli(['test', '.', '--threshold', threshold, '--format', 'junit'], { cwd });
      const root = readXml(stdout);
      const suite = root.children.find(({ attributes }) => attributes['name'] === 'requirements');
      const cases = suite?.children.map(({ attributes, children }) => [
        attributes['name'],
        ...children.map((failure) => `${failure.name} ${failure.attributes['type'] ?? ''}`),
      ]);
      return [status, root.attributes['failures'], cases];
    };
    const missed = ['99% of the grants are covered', 'failure policy.coverage'];
    expect(await required(uncovered, '99%')).toEqual([4, '1', [missed]]);
    expect(await required(uncovered, '1')).toEqual([0, '0', [['1% of the grants are covered']]]);
    expect(await required(failing, '99')).toEqual([4, '2', [missed]]);
  });

  test('junit gives each of two tests its own failures', async () => {
    const twin = 'tests:\n  - name: twin\n    actor: { identities: [orcid:ana] }\n';
    const twins = `${twin}    deny: ["resource:write /labs/optics"]\n${twin.replace('tests:\n', '').replace('twin', 'other twin')}    allow: ["resource:write /a", "resource:write /b"]\n`;
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': twins });
    const { stdout } = await runCli(['test', '.', '--format', 'junit'], { cwd });
    const suite = readXml(stdout).children.find(({ attributes }) => attributes['name'] === 'tests');
    const told = suite?.children.flatMap(({ children }) =>
      children.map(({ attributes, text }) => [
        attributes['message'],
        [...text.matchAll(/failed (?:other )?twin: (.*)/g)].map(([, request]) => request),
      ]),
    );
    expect(told).toEqual([
      ['1 of its expectations does not hold', ['resource:write /labs/optics']],
      ['2 of its expectations do not hold', ['resource:write /a', 'resource:write /b']],
    ]);
  });
});
