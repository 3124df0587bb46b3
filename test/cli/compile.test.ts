// compile and inspect as a user runs them: the file is whole or not there, and its digests are what is printed.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { BROKEN, FAILING, PASSING, POLICY } from './policies.js';

const digest = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

describe('compile', () => {
  test('writes the snapshot, readable by all, and prints both digests', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    const run = await runCli(['compile', '.', '-o', '.out.json'], { cwd });
    const bytes = await readFile(join(cwd, '.out.json'));
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/^no mistakes in 4 files, 1 test passed$/m);
    expect(run.stdout).toContain(`snapshot  ${digest(bytes)}\n`);
    expect(run.stdout).toMatch(/^decisions sha256:[0-9a-f]{64}$/m);
    expect(statSync(join(cwd, '.out.json')).mode & 0o777).toBe(0o644);
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('the JSON adds file, digests and counts', async () => {
    const cwd = await makeFolder(POLICY);
    const run = await runCli(['compile', '.', '-o', '.out.json', '--format', 'json'], { cwd });
    expect(JSON.parse(run.stdout)).toEqual({
      ok: true,
      policy: 'facility',
      diagnostics: [],
      tests: { passed: 0, failed: 0, failures: [] },
      guardrails: { held: 0, violated: 0, violations: [], reliesOn: [] },
      file: '.out.json',
      snapshot: digest(readFileSync(join(cwd, '.out.json'))),
      decisions: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      counts: { identities: 1, roles: 1, grants: 1, namespaces: expect.any(Number) },
    });
  });

  test.each([
    ['an invalid policy', { 'grants/broken.yaml': BROKEN }, 3],
    ['a failed test', { 'tests.yaml': FAILING }, 4],
    ['both', { 'grants/broken.yaml': BROKEN, 'tests.yaml': FAILING }, 3],
  ])('%s leaves the old file as it was', async (_name, more, status) => {
    const cwd = await makeFolder({ ...POLICY, ...more, '.out.json': 'old' });
    const run = await runCli(['compile', '.', '-o', '.out.json'], { cwd });
    expect(run.status).toBe(status);
    expect(run.stdout).toContain('nothing written to .out.json\n');
    expect(await readFile(join(cwd, '.out.json'), 'utf8')).toBe('old');
    expect(readdirSync(cwd).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('`-o -` is the snapshot alone on stdout', async () => {
    const cwd = await makeFolder(POLICY);
    const run = await spawnCli(['compile', '.', '-o', '-'], { cwd });
    expect(run.status).toBe(0);
    expect(run.stderr).toContain(`snapshot  ${digest(Buffer.from(run.stdout))}\n`);
    expect((await runCli(['compile', '.', '-o', '-', '--format', 'json'], { cwd })).status).toBe(2);
  });

  test('the same policy gives the same bytes from anywhere, in any locale and time zone', async () => {
    const cwd = await makeFolder({ ...POLICY, 'tests.yaml': PASSING });
    const other = await makeFolder(Object.fromEntries(Object.entries({ ...POLICY, 'tests.yaml': PASSING }).reverse()));
    const one = await spawnCli(['compile', '.', '-o', '-'], { cwd, env: { TZ: 'Asia/Tokyo', LC_ALL: 'tr_TR.UTF-8' } });
    const two = await spawnCli(['compile', other, '-o', '-']);
    expect(one.stdout).toBe(two.stdout);
    expect(one.stdout.length).toBeGreaterThan(100);
  });

  test('a link is followed, and the file it names replaced', async () => {
    const cwd = await makeFolder({ ...POLICY, '.real.json': 'old' });
    await symlink('.real.json', join(cwd, '.link.json'));
    expect((await runCli(['compile', '.', '-o', '.link.json'], { cwd })).status).toBe(0);
    expect(await readFile(join(cwd, '.real.json'), 'utf8')).toMatch(/^\{/);
  });

  test.each([
    ['a folder', '.'],
    ['a device', '/dev/null'],
    ['a folder that is not there', 'nothing/out.json'],
    ['a file of the policy', 'roles.yaml'],
  ])('%s cannot be the output: exit 2, nothing changed', async (_name, output) => {
    const cwd = await makeFolder(POLICY);
    const run = await runCli(['compile', '.', '-o', output], { cwd });
    expect([run.status, run.stdout]).toEqual([2, '']);
    expect(run.stderr).toMatch(/^error: `[^`]+` /);
    expect(await readFile(join(cwd, 'roles.yaml'), 'utf8')).toBe(POLICY['roles.yaml']);
    expect(statSync('/dev/null').isFile()).toBe(false);
  });

  (process.getuid?.() === 0 ? test.skip : test)('a folder that may not be written', async () => {
    const cwd = await makeFolder(POLICY);
    const out = await makeFolder();
    await chmod(out, 0o500);
    const run = await runCli(['compile', '.', '-o', join(out, 'x.json')], { cwd });
    await chmod(out, 0o700);
    expect(run.status).toBe(2);
  });
});

describe('inspect', () => {
  const DIGEST: unknown = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);

  test('a snapshot and the folder it came from have the same facts', async () => {
    const cwd = await makeFolder(POLICY);
    const compiled = JSON.parse(
      (await runCli(['compile', '.', '-o', '.s.json', '--format', 'json'], { cwd })).stdout,
    ) as Record<string, unknown>;
    const file = await runCli(['inspect', '.s.json', '--format', 'json'], { cwd });
    const folder = await runCli(['inspect', '.', '--format', 'json'], { cwd });
    const stdin = await runCli(['inspect', '-', '--format', 'json'], {
      cwd,
      stdin: readFileSync(join(cwd, '.s.json')),
    });
    expect([file.status, folder.stdout, stdin.stdout]).toEqual([0, file.stdout, file.stdout]);
    expect(JSON.parse(file.stdout)).toEqual({
      policy: 'facility',
      format: 3,
      snapshot: compiled['snapshot'],
      decisions: compiled['decisions'],
      counts: compiled['counts'],
      checks: {
        delegation: { count: 1, digest: DIGEST },
        exclusive: { count: 0, digest: DIGEST },
        guardrails: { count: expect.any(Number), digest: DIGEST },
        people: { count: 0, digest: DIGEST },
        tests: { count: expect.any(Number), digest: DIGEST },
      },
    });
  });

  test('--namespaces lists digests in path order, the root first', async () => {
    const cwd = await makeFolder(POLICY);
    const json = await runCli(['inspect', '.', '--namespaces', '--format', 'json'], { cwd });
    const { namespaces } = JSON.parse(json.stdout) as { namespaces: { namespace: string; digest: string }[] };
    expect(namespaces.map((entry) => entry.namespace)).toEqual(['/', '/labs', '/labs/optics']);
    for (const entry of namespaces) expect(entry.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const text = await runCli(['inspect', '.', '--namespaces'], { cwd });
    for (const entry of namespaces) expect(text.stdout).toContain(`${entry.digest} ${entry.namespace}\n`);
  });
});

test('names of the command line steer no terminal, in texts and in SARIF', async () => {
  const cwd = await makeFolder({
    'policy/policy.yaml': 'bailiwick: 1\nname: p\nproviders: { orcid: {} }\n',
    'wrong/policy.yaml': 'bailiwick: 1\nname: p\nproviders: { "x\u202e": {} }\n',
  });
  const name = 'a\u202eb\u009b';
  for (const args of [
    ['compile', 'policy', '-o', name],
    ['init', name.repeat(2)],
    ['export', 'rego', 'policy', '-o', name.repeat(3)],
    ['export', 'cedar', 'policy', '-o', name.repeat(3)],
    ['check', 'wrong', '--format', 'sarif'],
  ]) {
    const { stdout, stderr } = await runCli(args, { cwd });
    expect([args, `${stdout}${stderr}`.replaceAll('\n', '')]).toEqual([
      args,
      expect.not.stringMatching(/[\u202e\p{Cc}]/u),
    ]);
    expect([args, `${stdout}${stderr}`]).toEqual([args, expect.stringContaining('202e')]);
  }
});
