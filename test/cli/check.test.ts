// check as a user runs it: every mistake, failed test and violated guardrail, and the exit statuses (docs/cli.md "Exit
// statuses").
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { escapeText } from '../../server/cli/render/escape.js';
import { runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { BROKEN, FAILING, PASSING, POLICY } from './policies.js';

describe('check', () => {
  test('a sound policy', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    expect(await runCli(['check', '.'], { cwd })).toEqual({
      status: 0,
      stdout: 'no mistakes in 4 files, 1 test passed\n',
      stderr: '',
    });
    const json = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: true,
      policy: 'facility',
      diagnostics: [],
      tests: { passed: 1, failed: 0, failures: [] },
      guardrails: { held: 0, violated: 0, violations: [], reliesOn: [] },
    });
  });

  test('every mistake with its place and its line underlined, a summary, and exit 3', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/broken.yaml': BROKEN, 'grants/ignored.txt': '' });
    const run = await spawnCli(['check', '.'], { cwd });
    expect([run.status, run.stderr]).toEqual([3, '']);
    const lines = run.stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('grants/broken.yaml:5:14 error SCOPE_UNKNOWN '));
    expect(lines.slice(at + 1, at + 4)).toEqual([
      '   5 |     scopes: [resource:raed]',
      '     |              ^^^^^^^^^^^^^',
      '  help: did you mean `resource:read`?',
    ]);
    expect(run.stdout).toMatch(/^grants\/ignored\.txt:1:1 warning FILE_IGNORED the file is not read$/m);
    expect(lines.at(-2)).toBe('2 errors, 1 warning in 4 files');
  });

  test('the same as JSON', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/broken.yaml': BROKEN });
    const run = await runCli(['check', '.', '--format=json'], { cwd });
    expect([run.status, run.stderr]).toEqual([3, '']);
    const report = JSON.parse(run.stdout) as { diagnostics: readonly object[] };
    expect(report).toMatchObject({ ok: false, error: { code: 'policy.invalid', message: '2 errors in 4 files' } });
    expect(report.diagnostics).toContainEqual({
      code: 'SCOPE_UNKNOWN',
      severity: 'error',
      file: 'grants/broken.yaml',
      range: { start: { line: 5, column: 14 }, end: { line: 5, column: 27 } },
      message: expect.any(String),
      help: 'did you mean `resource:read`?',
      related: [],
    });
  });

  test('a failed policy test is exit 4, with what was expected, what came and why', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': FAILING });
    const run = await runCli(['check', '.'], { cwd });
    expect(run).toEqual({
      status: 4,
      stdout: [
        'tests.yaml:4 failed too much: resource:write /labs/optics',
        '  expected: deny',
        '  actual:   allow',
        '  grant: staff (grants/optics.yaml:3)',
        'no mistakes in 4 files, 1 of 1 test failed',
        '',
      ].join('\n'),
      stderr: '',
    });
    const json = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      tests: {
        passed: 0,
        failed: 1,
        failures: [
          {
            test: 'too much',
            file: 'tests.yaml',
            line: 4,
            request: 'resource:write /labs/optics',
            expected: 'deny',
            actual: 'allow',
            grants: [{ id: 'staff', file: 'grants/optics.yaml', line: 3 }],
          },
        ],
      },
      error: { code: 'policy.tests_failed' },
    });
  });

  const VIOLATED =
    'guardrails:\n  - id: nobody-writes\n    never: { scopes: [resource:write], under: /labs }\n  - id: nobody-runs\n    never: { scopes: [process-run:write], under: /labs }\n';

  test('a violated guardrail is exit 5, with all witnesses, their grants and what to remove', async () => {
    const cwd = await makeFolder({ ...POLICY, 'guardrails.yaml': VIOLATED });
    const run = await runCli(['check', '.'], { cwd });
    expect(run).toEqual({
      status: 5,
      stdout: [
        'guardrails.yaml:2 violated guardrail nobody-writes',
        '  requires: nobody may hold resource:write at or below /labs',
        '  orcid:ana: resource:write at and below /labs/optics',
        '    grant: staff (grants/optics.yaml:3), for role staff',
        '  help: removing this grant would satisfy it: staff (grants/optics.yaml:3)',
        'no mistakes in 4 files, 0 tests passed, 1 of 2 guardrails violated',
        '',
      ].join('\n'),
      stderr: '',
    });
    const grant = { id: 'staff', file: 'grants/optics.yaml', line: 3 };
    expect(JSON.parse((await runCli(['check', '.', '--format', 'json'], { cwd })).stdout)).toMatchObject({
      ok: false,
      error: { code: 'policy.guardrail_violated', message: '1 guardrail violated' },
      guardrails: {
        held: 1,
        violated: 1,
        violations: [
          {
            guardrail: 'nobody-writes',
            file: 'guardrails.yaml',
            line: 2,
            witnesses: [
              {
                identities: ['orcid:ana'],
                namespace: '/labs/optics',
                extent: 'subtree',
                scopes: ['resource:write'],
                from: null,
                until: null,
                grants: [grant],
              },
            ],
            repair: [grant],
          },
        ],
      },
    });
  });

  test('a separation of duties is broken by whoever may be in a group of their provider', async () => {
    const cwd = await makeFolder({
      'policy.yaml': 'bailiwick: 1\nname: finance\nproviders:\n  okta: {}\n',
      'grants.yaml':
        'roles:\n  approvers: { members: ["okta-group:finance-approvers"] }\ngrants:\n  - { id: prepare, identity: "okta:e-1030", namespace: /finance, scopes: ["resource:*"] }\n  - { id: approve, role: approvers, namespace: /finance, scopes: ["process-run:*"] }\n',
      'guardrails.yaml':
        'guardrails:\n  - id: apart\n    separate: { scopes: [resource:write, process-run:write], under: /finance }\n  - id: few\n    atMost: { identities: 9, scope: process-run:write, at: /finance }\n  - id: few-but-groups\n    atMost: { identities: 9, groups: 1, scope: process-run:write, at: /finance }\n  - id: somebody\n    atLeast: { identities: 1, scope: process-run:write, at: /finance }\n',
    });
    const run = await runCli(['check', '.'], { cwd });
    expect(run).toEqual({
      status: 5,
      stdout: [
        'guardrails.yaml:2 violated guardrail apart',
        '  requires: nobody may hold more than one of resource:write and process-run:write in one namespace, at or below /finance',
        '  okta:e-1030, if also in okta-group:finance-approvers: process-run:write, resource:write at and below /finance',
        '    grant: approve (grants.yaml:5), for role approvers',
        '    grant: prepare (grants.yaml:4)',
        'guardrails.yaml:4 violated guardrail few',
        '  requires: at most 9 people may hold process-run:write at /finance',
        '  whoever is in okta-group:finance-approvers: process-run:write at /finance',
        '    grant: approve (grants.yaml:5), for role approvers',
        'guardrails.yaml:8 violated guardrail somebody',
        '  requires: at least 1 person must hold process-run:write at /finance',
        '  nobody: process-run:write at /finance',
        '  help: removing this grant would satisfy apart, few: approve (grants.yaml:5)',
        'no mistakes in 3 files, 0 tests passed, 3 of 4 guardrails violated',
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  test('a separation of duties that holds by an exclusive list says so', async () => {
    const cwd = await makeFolder({
      'policy.yaml':
        'bailiwick: 1\nname: finance\nproviders:\n  okta: {}\nexclusive:\n  - ["okta:e-1030", "okta-group:finance-approvers"]\n',
      'grants.yaml':
        'grants:\n  - { id: prepare, identity: "okta:e-1030", namespace: /finance, scopes: ["resource:*"] }\n  - { id: approve, identity: "okta-group:finance-approvers", namespace: /finance, scopes: ["process-run:*"] }\n',
      'guardrails.yaml':
        'guardrails:\n  - id: apart\n    separate: { scopes: [resource:write, process-run:write], under: /finance }\n',
    });
    const run = await runCli(['check', '.'], { cwd });
    expect([run.status, run.stdout]).toEqual([
      0,
      [
        'guardrail apart held, because `exclusive` keeps apart okta-group:finance-approvers and okta:e-1030',
        'no mistakes in 3 files, 0 tests passed, 1 guardrail held',
        '',
      ].join('\n'),
    ]);
    const { stdout } = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({
      guardrails: {
        reliesOn: [{ guardrail: 'apart', pairs: [['okta-group:finance-approvers', 'okta:e-1030']] }],
      },
    });
  });

  test('of several exit statuses the smallest wins, and everything is reported', async () => {
    const cwd = await makeFolder({ ...POLICY, 'guardrails.yaml': VIOLATED, 'tests.yaml': FAILING });
    const run = await runCli(['check', '.', '--format', 'json'], { cwd });
    expect(run.status).toBe(4);
    expect(JSON.parse(run.stdout)).toMatchObject({
      tests: { failed: 1 },
      guardrails: { violated: 1 },
      error: { code: 'policy.tests_failed' },
    });
  });

  test('what an unreadable file may declare is not called missing as well', async () => {
    const cwd = await makeFolder({ 'grants/optics.yaml': POLICY['grants/optics.yaml'] });
    await symlink('/etc/hostname', join(cwd, 'policy.yaml'));
    await symlink('/etc', join(cwd, 'roles'));
    const { stdout, status } = await runCli(['check', '.', '--format', 'json'], { cwd });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { code: string; file: string }[] };
    expect(status).toBe(3);
    expect(diagnostics.map(({ code, file }) => `${file} ${code}`)).toEqual([
      'policy.yaml FILE_SYMLINK',
      'roles FILE_SYMLINK',
    ]);
  });

  test('names and text of a policy cannot steer the terminal', async () => {
    const cwd = await makeFolder({ ...POLICY, 'grants/\u202eevil\u009b.yaml': '\u202e: "\u009b2J"\n' });
    for (const format of ['text', 'json']) {
      const { stdout } = await runCli(['check', '.', '--format', format], { cwd });
      expect(stdout.length).toBeGreaterThan(100);
      // Line ends aside, nothing is left that would be escaped.
      expect(escapeText(stdout).replaceAll('\\n', '\n')).toBe(stdout.replaceAll('\\n', '\n'));
    }
  });

  test('a missing folder is exit 2', async () => {
    const run = await runCli(['check', 'nothing', '--format', 'json']);
    expect({ ...run, stdout: JSON.parse(run.stdout) as unknown }).toEqual({
      status: 2,
      stdout: {
        ok: false,
        policy: null,
        diagnostics: [],
        tests: { passed: 0, failed: 0, failures: [] },
        guardrails: { held: 0, violated: 0, violations: [], reliesOn: [] },
        error: { code: 'cli.not_found', message: '`nothing` does not exist' },
      },
      stderr: '',
    });
  });
});
