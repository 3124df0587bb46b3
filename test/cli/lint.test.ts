// Lint as the user of check and compile meets it: levels, --strict, --at and --soon, and what they do to the exit status.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { PASSING, POLICY } from './policies.js';

const IDLE = { ...POLICY, 'idle.yaml': 'roles:\n  idle: { members: [orcid:bo] }\n', 'tests.yaml': PASSING };
const ENDING = {
  ...POLICY,
  'tests.yaml': PASSING,
  'grants/optics.yaml': `${POLICY['grants/optics.yaml']}  - { id: old, identity: orcid:bo, scopes: [resource:read], expires: 2026-12-01T00:00:00Z, namespace: /labs/optics }\n`,
};

async function codes(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly status: number | null; readonly found: readonly string[] }> {
  const { status, stdout } = await runCli([...args, '--format', 'json'], { cwd });
  const { diagnostics } = JSON.parse(stdout) as {
    readonly diagnostics?: readonly { code: string; severity: string }[];
  };
  return { status, found: (diagnostics ?? []).map(({ code, severity }) => `${severity} ${code}`) };
}

describe('check', () => {
  test('a warning is reported and changes nothing, unless it is raised or --strict', async () => {
    const cwd = await makeFolder(IDLE);
    const run = await runCli(['check', '.'], { cwd });
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(
      /^idle\.yaml:2:3 warning LINT_ROLE_UNUSED nothing refers to the role `idle`\n {3}2 \| {3}idle: .*\n {5}\| {3}\^{4}\n {2}help: .*\n1 warning in 5 files, 1 test passed\n$/,
    );
    expect(await codes(['check', '.'], cwd)).toEqual({ status: 0, found: ['warning LINT_ROLE_UNUSED'] });
    expect(await codes(['check', '.', '--level', 'LINT_ROLE_UNUSED=error'], cwd)).toEqual({
      status: 3,
      found: ['error LINT_ROLE_UNUSED'],
    });
    expect(await codes(['check', '.', '--level', 'LINT_ROLE_UNUSED=off', '--strict'], cwd)).toEqual({
      status: 0,
      found: [],
    });
    expect(await codes(['check', '.', '--level', 'LINT_ROLE_UNUSED=info', '--strict'], cwd)).toEqual({
      status: 0,
      found: ['info LINT_ROLE_UNUSED'],
    });
    const strict = await runCli(['check', '.', '--strict', '--format', 'json'], { cwd });
    expect(strict.status).toBe(3);
    expect(JSON.parse(strict.stdout)).toMatchObject({
      ok: false,
      tests: { passed: 1 },
      error: { code: 'policy.invalid', message: '1 warning in 5 files' },
    });
  });

  test('expired grants are reported as of now or --at, and never make a policy invalid', async () => {
    const cwd = await makeFolder(ENDING);
    expect(await codes(['check', '.', '--strict', '--at', '2027-01-01T00:00:00Z'], cwd)).toEqual({
      status: 0,
      found: ['warning LINT_GRANT_EXPIRED'],
    });
    expect(await codes(['check', '.', '--at', '2026-11-15T00:00:00Z'], cwd)).toEqual({
      status: 0,
      found: ['warning LINT_GRANT_EXPIRES_SOON'],
    });
    expect(await codes(['check', '.', '--at', '2026-11-15T00:00:00Z', '--soon', '24h'], cwd)).toEqual({
      status: 0,
      found: [],
    });
    // From now on: whenever this runs, the grant is over or soon over.
    expect((await codes(['check', '.', '--soon', '99999d'], cwd)).found[0]).toMatch(
      /^warning LINT_GRANT_EXPIRE(?:D|S_SOON)$/,
    );
    const long =
      'grants:\n  - { id: older, identity: orcid:x, namespace: /a, scopes: [resource:read], expires: 2001-01-01T00:00:00Z }\n';
    const over = await makeFolder({ ...ENDING, 'old.yaml': long });
    expect((await codes(['check', '.', '--strict'], over)).found).toContain('warning LINT_GRANT_EXPIRED');
  });

  test('--strict says the same in every season, of an ignore comment too', async () => {
    const comment =
      '  # bailiwick-ignore LINT_GRANT_EXPIRES_SOON, LINT_GRANT_EXPIRED: the contract ends, that is meant\n';
    const plain = await makeFolder(ENDING);
    const ignoring = await makeFolder({
      ...ENDING,
      'grants/optics.yaml': ENDING['grants/optics.yaml'].replace('  - { id: old', `${comment}  - { id: old`),
    });
    for (const at of ['2026-01-01', '2026-11-15', '2026-12-24']) {
      const args = ['check', '.', '--strict', '--at', `${at}T00:00:00Z`];
      expect([at, await codes(args, ignoring)]).toEqual([at, { status: 0, found: [] }]);
      expect([at, (await codes(args, plain)).status]).toEqual([at, 0]);
    }
    expect((await codes(['compile', '.', '-o', 's.json', '--strict'], ignoring)).status).toBe(0);
  });

  test('compile never looks at the clock', async () => {
    const cwd = await makeFolder(ENDING);
    const out = join(await makeFolder(), 'a.json');
    expect(await codes(['compile', '.', '-o', out], cwd)).toEqual({ status: 0, found: [] });
    expect(await codes(['compile', '.', '-o', out, '--at', '2027-01-01T00:00:00Z'], cwd)).toEqual({
      status: 0,
      found: ['warning LINT_GRANT_EXPIRED'],
    });
    const { status, stdout } = await runCli(['compile', '.', '-o', out, '--soon', '30d', '--format', 'json'], {
      cwd,
    });
    expect([status, JSON.parse(stdout)]).toMatchObject([2, { error: { code: 'cli.usage' } }]);
  });

  test.each([
    { flags: ['--level', 'LINT_ROLE_UNUSD=off'], message: '`LINT_ROLE_UNUSD` is not a lint rule' },
    {
      flags: ['--level', 'LINT_ROLE_UNUSED'],
      message: '`--level LINT_ROLE_UNUSED` must be a rule, `=`, and one of off, info, warning, error',
    },
    { flags: ['--level', 'GRANT_DUPLICATE=off'], message: '`GRANT_DUPLICATE` is not a lint rule' },
    {
      flags: ['--level', 'LINT_GRANT_EXPIRED=error'],
      message: '`LINT_GRANT_EXPIRED` depends on the clock, so it never makes a policy invalid',
    },
    { flags: ['--soon', '3 months'], message: '`--soon` must be a duration such as `30s`, `15m`, `24h` or `90d`' },
    {
      flags: ['--at', 'tomorrow'],
      message: '`--at` must be an RFC 3339 instant with offset, such as `2027-01-01T00:00:00Z`',
    },
  ])('refuses $flags', async ({ flags, message }) => {
    const { status, stdout } = await runCli(['check', '.', ...flags, '--format', 'json'], {
      cwd: await makeFolder(IDLE),
    });
    expect(status).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'cli.usage', message } });
  });
});

test('compile lints too, and writes nothing where lint was made to matter', async () => {
  const cwd = await makeFolder(IDLE);
  expect(await codes(['compile', '.', '-o', 'a.json'], cwd)).toEqual({
    status: 0,
    found: ['warning LINT_ROLE_UNUSED'],
  });
  expect((await codes(['compile', '.', '-o', 'b.json', '--strict'], cwd)).status).toBe(3);
  expect([existsSync(join(cwd, 'a.json')), existsSync(join(cwd, 'b.json'))]).toEqual([true, false]);
});

test('verbs that only use a policy do not lint it', async () => {
  const cwd = await makeFolder(IDLE);
  expect(await runCli(['decide', '.'], { cwd })).toEqual({ status: 0, stdout: '', stderr: '' });
});
