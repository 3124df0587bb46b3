// The formats of check and compile for other programs: valid by their standards on every path, a failed one included.
import { basename, dirname, join } from 'node:path';
import { existsSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { junitFaults, sarifFaults } from '../support/published-schemas.js';
import { readXml, type XmlElement } from '../support/strict-xml.js';
import { makeFolder } from '../support/temp-folder.js';
import { BROKEN, FAILING, PASSING, POLICY } from './policies.js';

const VIOLATED = 'guardrails:\n  - id: nobody-writes\n    never: { scopes: [resource:write], under: /labs }\n';
const CUT = 'grants:\n  - { id: a, role: "st\n';

interface Sarif {
  readonly runs: readonly [
    {
      readonly tool: {
        readonly driver: {
          readonly rules: readonly {
            readonly id: string;
            readonly help: { readonly text: string; readonly markdown: string };
          }[];
        };
      };
      readonly invocations: readonly [
        {
          readonly executionSuccessful: boolean;
          readonly exitCode: number;
          readonly toolExecutionNotifications?: readonly object[];
        },
      ];
      readonly originalUriBaseIds: Readonly<Record<string, unknown>>;
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly level: string;
        readonly locations: readonly [
          {
            readonly physicalLocation: {
              readonly artifactLocation: { readonly uri: string; readonly uriBaseId: string };
              readonly region: object;
            };
          },
        ];
        readonly partialFingerprints: Readonly<Record<string, string>>;
      }[];
    },
  ];
}

async function sarif(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly run: Sarif['runs'][0]; readonly status: number | null }> {
  const { stdout, status } = await runCli([...args, '--format', 'sarif'], { cwd });
  const log = JSON.parse(stdout) as Sarif;
  expect(sarifFaults(log)).toEqual([]);
  return { run: log.runs[0], status };
}

describe('sarif', () => {
  test('every diagnostic, failed test and violated guardrail is a result with its rule and place', async () => {
    const cwd = await makeFolder({
      'my policy/policy.yaml': POLICY['policy.yaml'],
      'my policy/roles.yaml': `${POLICY['roles.yaml']}  idle: { members: [orcid:bo] }\n`,
      'my policy/optics.yaml': POLICY['grants/optics.yaml'],
      'my policy/tests.yaml': FAILING,
      'my policy/guardrails.yaml': VIOLATED,
    });
    const { run, status } = await sarif(['check', 'my policy'], cwd);
    expect(status).toBe(4);
    expect(run.invocations).toEqual([
      { executionSuccessful: true, exitCode: 4, exitCodeDescription: 'policy tests failed' },
    ]);
    expect(run.results.map(({ ruleId, level }) => `${level} ${ruleId}`)).toEqual([
      'warning LINT_ROLE_UNUSED',
      'error POLICY_TEST_FAILED',
      'error GUARDRAIL_VIOLATED',
    ]);
    for (const { ruleId, ruleIndex } of run.results) expect(run.tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
    expect(run.results[0]?.locations[0].physicalLocation).toEqual({
      artifactLocation: { uri: 'my%20policy/roles.yaml', uriBaseId: '%SRCROOT%' },
      region: { startLine: 4, startColumn: 3, endLine: 4, endColumn: 7 },
    });
    expect(Object.keys(run.originalUriBaseIds)).toEqual(['%SRCROOT%']);
  });

  test('a policy that cannot be parsed is still SARIF, and says that the execution was not successful', async () => {
    const cwd = await makeFolder({ ...POLICY, 'broken.yaml': CUT });
    const { run, status } = await sarif(['check', '.'], cwd);
    expect(status).toBe(3);
    expect(run.invocations[0].executionSuccessful).toBe(false);
    expect(run.invocations[0].toolExecutionNotifications).toHaveLength(1);
    expect(run.results.map(({ ruleId }) => ruleId)).toEqual(['YAML_QUOTE_UNCLOSED']);
    const [rule] = run.tool.driver.rules;
    // The page itself: nothing depends on where the program is installed.
    expect(rule?.help.markdown).toContain('~~~yaml\n');
    expect(JSON.stringify(run.tool)).not.toContain('file:');
  });

  test('so is a command that fails altogether', async () => {
    const cwd = await makeFolder();
    for (const args of [
      ['check', 'nowhere'],
      ['compile', 'nowhere', '-o', 'x.json'],
      ['check'],
      ['check', '.', '--level', 'x'],
    ]) {
      const { run, status } = await sarif(args, cwd);
      expect(status).toBe(2);
      expect(run).toMatchObject({ results: [], invocations: [{ executionSuccessful: false, exitCode: 2 }] });
    }
  });

  test('a fingerprint stays when lines move, and tells equal lines apart; a folder elsewhere is a base of its own', async () => {
    const grant = '  - id: x\n    role: staff\n    namespace: /labs\n    scopes: [resource:raed]\n';
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': `grants:\n${grant}`, 'elsewhere/empty.txt': '' });
    const prints = async (): Promise<readonly string[]> => {
      const { run } = await sarif(['check', cwd], join(cwd, 'elsewhere'));
      const unknown = run.results.filter(({ ruleId }) => ruleId === 'SCOPE_UNKNOWN');
      expect(unknown[0]?.locations[0].physicalLocation.artifactLocation).toEqual({
        uri: 'a.yaml',
        uriBaseId: 'POLICY',
      });
      return unknown.map((result) => result.partialFingerprints['primaryLocationLineHash'] ?? '');
    };
    const before = await prints();
    await writeText(cwd, 'a.yaml', `# moved\n\ngrants:\n${grant}${grant.replace('id: x', 'id: y')}`);
    const after = await prints();
    expect(before).toHaveLength(1);
    expect(after[0]).toBe(before[0]);
    expect(new Set(after).size).toBe(2);
  });
});

async function writeText(folder: string, path: string, text: string): Promise<void> {
  const { writeFile } = await import('node:fs/promises');
  await writeFile(join(folder, path), text);
}

describe('a guardrail that many break', () => {
  const WITNESSES = 41;
  const folder = (): Promise<string> => {
    // Ten at each namespace, with names as long as they may be.
    const members = Array.from({ length: 10 }, (_, index) => `"orcid:光${'%'.repeat(240)}${String(index)}"`);
    const grants = Array.from({ length: WITNESSES }, (_, index) => {
      const number = String(index).padStart(3, '0');
      return `  - { id: ${'g'.repeat(120)}${number}, role: all, namespace: /n${number}, scopes: [resource:write] }\n`;
    });
    return makeFolder({
      'policy.yaml': POLICY['policy.yaml'],
      'grants.yaml': `roles:\n  all: { members: [${members.join(', ')}] }\ngrants:\n${grants.join('')}`,
      'guardrails.yaml': 'guardrails:\n  - { id: nobody, never: { scopes: [resource:write], under: / } }\n',
    });
  };

  test.each(['text', 'sarif', 'junit'])('is shown by its first witnesses in %s', async (format) => {
    const { stdout, status } = await runCli(['check', '.', '--format', format], { cwd: await folder() });
    expect(status).toBe(5);
    expect(stdout).toContain('and 21 more witnesses: --format json lists all');
    expect(stdout).toContain('/n019');
    expect(stdout).not.toContain('at and below /n020');
  });

  test('is whole in JSON', async () => {
    const { stdout } = await runCli(['check', '.', '--format', 'json'], { cwd: await folder() });
    const { guardrails } = JSON.parse(stdout) as { guardrails: { violations: [{ witnesses: []; repair: [] }] } };
    const [{ witnesses, repair }] = guardrails.violations;
    expect([witnesses.length, repair.length]).toEqual([WITNESSES, WITNESSES]);
  });

  test('keeps far below what GitHub takes', async () => {
    const { stdout } = await runCli(['check', '.', '--format', 'github'], { cwd: await folder() });
    const [annotation = ''] = stdout.split('\n').filter((line) => line.includes('title=GUARDRAIL_VIOLATED'));
    const message = annotation
      .slice(annotation.indexOf('::', 2) + 2)
      .replaceAll('%0A', '\n')
      .replaceAll('%25', '%');
    expect(Buffer.byteLength(message)).toBeGreaterThan(4096);
    expect(Buffer.byteLength(message)).toBeLessThan(20_000);
    expect(message).toMatch(
      /^the guardrail `nobody` does not hold\n.*\n(?:.*\n)+and \d+ more lines: --format json lists all$/,
    );
  });
});

describe('github', () => {
  test('an annotation for each, relative to the working directory, with everything escaped', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/a,b:100%.yaml': BROKEN, 'tests.yaml': FAILING });
    const { stdout, status } = await runCli(['check', basename(cwd), '--format', 'github'], { cwd: dirname(cwd) });
    expect(status).toBe(3);
    expect(stdout.split('\n')).toContain(
      `::error file=${basename(cwd)}/grants/a%2Cb%3A100%25.yaml,line=5,endLine=5,col=14,endColumn=27,title=SCOPE_UNKNOWN::\`resource:raed\` is not a scope%0Ahelp: did you mean \`resource:read\`?`,
    );
    for (const line of stdout.trimEnd().split('\n'))
      expect(line).toMatch(/^::(?:error|warning|notice) file=[^:]+::[^\r\n]+$/);
  });

  test('a failed test is one annotation of several lines; a failed command is reported too', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': FAILING });
    const { stdout } = await runCli(['check', '.', '--format', 'github'], { cwd });
    expect(stdout).toBe(
      '::error file=tests.yaml,line=4,endLine=4,title=POLICY_TEST_FAILED::the test `too much` fails: resource:write /labs/optics%0Aexpected: deny%0Aactual:   allow%0Agrant: staff (grants/optics.yaml:3)\n',
    );
    const failed = await runCli(['check', 'no\nwhere', '--format', 'github'], { cwd });
    expect(failed).toMatchObject({ status: 2, stdout: '::error title=cli.not_found::`no%0Awhere` does not exist\n' });
  });
});

describe('junit', () => {
  const casesOf = (root: XmlElement): readonly XmlElement[] => root.children.flatMap((suite) => suite.children);

  /** Valid, and with counts that are those of what stands there. */
  async function readReport(xml: string): Promise<XmlElement> {
    expect(await junitFaults([xml])).toEqual([]);
    const root = readXml(xml);
    const counts = (cases: readonly XmlElement[]): object => ({
      tests: String(cases.length),
      failures: String(cases.filter(({ children }) => children[0]?.name === 'failure').length),
      errors: String(cases.filter(({ children }) => children[0]?.name === 'error').length),
    });
    expect(root.attributes).toMatchObject(counts(casesOf(root)));
    for (const suite of root.children) {
      expect([suite.name, suite.text.trim()]).toEqual(['testsuite', '']);
      expect(suite.attributes).toMatchObject({ name: expect.any(String), ...counts(suite.children) });
      for (const one of suite.children) {
        expect(one).toMatchObject({
          name: 'testcase',
          attributes: { classname: expect.any(String), name: expect.any(String) },
        });
        expect(one.children.length).toBeLessThanOrEqual(1);
      }
    }
    return root;
  }

  test('tests are cases with file and class name, and a failure holds what was expected and what came', async () => {
    const cwd = await makeFolder({
      'p/policy.yaml': POLICY['policy.yaml'],
      'p/roles.yaml': POLICY['roles.yaml'],
      'p/optics.yaml': POLICY['grants/optics.yaml'],
      'p/good.yaml': PASSING,
      'p/tests.yaml': FAILING.replace('too much', '"<too> & \\"much\\" \\u202e"'),
      'p/guardrails.yaml': VIOLATED,
    });
    const { stdout, status } = await runCli(['check', 'p', '--format', 'junit'], { cwd });
    expect(status).toBe(4);
    const root = await readReport(stdout);
    const cases = casesOf(root);
    const failed = cases.find(({ attributes }) => attributes['name'] === '<too> & "much" \\u{202e}');
    expect(failed).toMatchObject({ attributes: { classname: 'p/tests.yaml' } });
    expect(failed?.children[0]).toMatchObject({
      name: 'failure',
      text: expect.stringMatching(/^p\/tests\.yaml:2\n[^]*expected: deny\n {2}actual: {3}allow/),
    });
    expect(cases.filter(({ children }) => children.length === 0).map(({ attributes }) => attributes['name'])).toEqual([
      ...Array.from({ length: 6 }, () => 'is valid'),
      'staff',
    ]);
  });

  test('a mistake is a failed case of its file, and a command that fails an error', async () => {
    const cwd = await makeFolder({ ...POLICY, 'a.yaml': BROKEN });
    const broken = await readReport((await runCli(['check', '.', '--format', 'junit'], { cwd })).stdout);
    const wrong = casesOf(broken).filter(({ children }) => children.length > 0);
    expect(wrong.map(({ attributes }) => `${attributes['classname'] ?? ''} ${attributes['name'] ?? ''}`)).toEqual([
      'a.yaml ROLE_UNKNOWN at 3:11',
      'a.yaml SCOPE_UNKNOWN at 5:14',
    ]);
    const failed = await readReport((await runCli(['check', 'nowhere', '--format', 'junit'], { cwd })).stdout);
    expect(casesOf(failed)[0]?.children[0]).toMatchObject({ name: 'error', attributes: { type: 'cli.not_found' } });
  });

  test('a warning is a failed case where it makes the policy invalid, and only there', async () => {
    const ending =
      '  - { id: old, role: staff, namespace: /labs/optics, scopes: [namespace:read], expires: 2001-01-01T00:00:00Z }\n';
    const cwd = await makeFolder({
      ...POLICY,
      'grants/optics.yaml': POLICY['grants/optics.yaml'] + ending,
      'idle.yaml': 'roles:\n  idle: { members: [orcid:bo] }\n',
    });
    const failedIn = async (...flags: readonly string[]): Promise<unknown> => {
      const { stdout, status } = await runCli(['check', '.', '--format', 'junit', ...flags], { cwd });
      const root = await readReport(stdout);
      const failed = casesOf(root).filter(({ children }) => children.length > 0);
      return [status, failed.map(({ attributes }) => `${attributes['classname'] ?? ''} ${attributes['name'] ?? ''}`)];
    };
    expect(await failedIn()).toEqual([0, []]);
    expect(await failedIn('--strict')).toEqual([3, ['idle.yaml LINT_ROLE_UNUSED at 2:3']]);
  });
});

test('compile has them too, and not where stdout is the snapshot', async () => {
  const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
  const { run, status } = await sarif(['compile', '.', '-o', 'out.json'], cwd);
  expect(status).toBe(0);
  expect(run).toMatchObject({ results: [], invocations: [{ executionSuccessful: true, exitCode: 0 }] });
  expect(existsSync(join(cwd, 'out.json'))).toBe(true);
  expect((await runCli(['compile', '.', '-o', '-', '--format', 'junit'], { cwd })).status).toBe(2);
});
