// init, fmt, schema and codes: the verbs of somebody who writes a policy.
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from '@jest/globals';
import { PROBLEM_CODES } from '../../engine/compiler.js';
import { runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const listed = (folder: string): readonly string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

describe('init', () => {
  test('makes a policy that check has nothing to say about, in the one layout, with its test passing', async () => {
    const cwd = await makeFolder();
    const made = await runCli(['init', 'My Policies'], { cwd });
    expect([made.status, made.stdout.trim().split('\n')]).toEqual([
      0,
      expect.arrayContaining(['policy.yaml', '.schema/policy.json', 'README.md']),
    ]);
    const folder = join(cwd, 'My Policies');
    const { status, stdout } = await runCli(['check', '.', '--strict', '--format', 'json'], { cwd: folder });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      policy: 'my-policies',
      diagnostics: [],
      tests: { passed: 1, failed: 0 },
      guardrails: { held: 1, violated: 0 },
    });
    expect((await runCli(['fmt', '.', '--check'], { cwd: folder })).status).toBe(0);
    expect((await runCli(['test', '.', '--threshold', '100'], { cwd: folder })).status).toBe(0);
    for (const path of listed(folder).filter((name) => name.endsWith('.yaml'))) {
      const [, schema = ''] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(folder, path), 'utf8')) ?? [];
      expect(() =>
        new Ajv({ strict: false }).compile(
          JSON.parse(readFileSync(join(folder, path, '..', schema), 'utf8')) as object,
        ),
      ).not.toThrow();
    }
  });

  test('works in an empty folder, and leaves one that is not empty as it is', async () => {
    const cwd = await makeFolder();
    expect((await runCli(['init', '--format', 'json'], { cwd })).status).toBe(0);
    const clone = await makeFolder({ '.git/HEAD': 'ref: refs/heads/main\n', '.gitignore': '*.log\n' });
    expect((await runCli(['init'], { cwd: clone })).status).toBe(0);
    expect((await runCli(['check', '.'], { cwd: clone })).status).toBe(0);
    const full = await makeFolder({ 'notes.txt': 'mine\n' });
    for (const format of ['text', 'json']) {
      const run = await runCli(['init', full, '--format', format], { cwd });
      expect([run.status, run.stdout + run.stderr]).toEqual([2, expect.stringContaining('is not empty')]);
    }
    expect(listed(full)).toEqual(['notes.txt']);
  });

  test.each(['notes.txt', 'notes.txt/policies'])('says in words that %s can be no folder', async (path) => {
    const cwd = await makeFolder({ 'notes.txt': 'mine\n' });
    const run = await runCli(['init', path, '--format', 'json'], { cwd });
    expect([run.status, JSON.parse(run.stdout)]).toEqual([
      2,
      { error: { code: 'cli.not_a_folder', message: `\`${path}\` is not a folder, or is below a file` } },
    ]);
    expect(listed(cwd)).toEqual(['notes.txt']);
  });

  test('ends where the file system has no place for a folder', async () => {
    const run = await runCli(['init', '/proc/policies/mine'], { cwd: await makeFolder() });
    expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('`/proc/policies/mine` cannot be written')]);
  });
});

describe('fmt', () => {
  const UNTIDY = '# staff\nroles: {staff: {members: [orcid:ana]}} # one\n';
  const TIDY = '# staff\nroles: # one\n  staff: { members: [orcid:ana] }\n';

  test('writes what is to be changed, names it, and has nothing to do a second time', async () => {
    const cwd = await makeFolder({ ...POLICY, 'roles.yaml': UNTIDY });
    chmodSync(join(cwd, 'roles.yaml'), 0o640);
    const check = await runCli(['fmt', '.', '--check'], { cwd });
    expect(check).toEqual({
      status: 7,
      stdout: 'grants/optics.yaml\nroles.yaml\n',
      stderr: '2 files to be formatted, 1 unchanged\n',
    });
    expect(readFileSync(join(cwd, 'roles.yaml'), 'utf8')).toBe(UNTIDY);
    expect(await runCli(['fmt', '.'], { cwd })).toEqual({
      status: 0,
      stdout: check.stdout,
      stderr: '2 files formatted, 1 unchanged\n',
    });
    expect(readFileSync(join(cwd, 'roles.yaml'), 'utf8')).toBe(TIDY);
    expect(statSync(join(cwd, 'roles.yaml')).mode & 0o777).toBe(0o640);
    expect(listed(cwd)).toEqual(['grants', 'grants/optics.yaml', 'policy.yaml', 'roles.yaml']);
    const again = await runCli(['fmt', '.', '--format', 'json'], { cwd });
    expect([again.status, JSON.parse(again.stdout)]).toEqual([
      0,
      { ok: true, changed: [], unchanged: 3, diagnostics: [] },
    ]);
  });

  test('leaves files with mistakes as they are, says which, and formats the others', async () => {
    const broken = 'roles: {staff: [}\n';
    const cwd = await makeFolder({ 'a.yaml': broken, 'b.yaml': UNTIDY });
    const { status, stdout } = await runCli(['fmt', '.', '--format', 'json'], { cwd });
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      changed: ['b.yaml'],
      diagnostics: [{ file: 'a.yaml', severity: 'error' }],
      error: { code: 'policy.invalid' },
    });
    expect(readFileSync(join(cwd, 'a.yaml'), 'utf8')).toBe(broken);
    expect(readFileSync(join(cwd, 'b.yaml'), 'utf8')).toBe(TIDY);
    const { stderr } = await runCli(['fmt', '.'], { cwd });
    expect(stderr).toBe('0 files formatted, 1 unchanged, 1 with mistakes left unchanged\n');
  });

  test('never writes outside of the folder', async () => {
    const cwd = await makeFolder({ 'elsewhere.yaml': UNTIDY });
    await mkdir(join(cwd, 'p'));
    await symlink('../elsewhere.yaml', join(cwd, 'p/link.yaml'));
    await writeFile(join(cwd, 'p/own.yaml'), UNTIDY);
    await symlink('own.yaml', join(cwd, 'p/alias.yaml'));
    const run = await runCli(['fmt', 'p', '--format', 'json'], { cwd });
    expect([run.status, JSON.parse(run.stdout)]).toEqual([
      3,
      expect.objectContaining({ diagnostics: [expect.objectContaining({ code: 'FILE_SYMLINK' })] }),
    ]);
    expect(readFileSync(join(cwd, 'elsewhere.yaml'), 'utf8')).toBe(UNTIDY);
    expect(readFileSync(join(cwd, 'p/own.yaml'), 'utf8')).toBe(TIDY);
    expect((await runCli(['fmt', 'nowhere'], { cwd })).status).toBe(2);
  });
});

describe('schema', () => {
  test.each(['policy', 'sections', 'config'])('%s is a schema', async (kind) => {
    const { status, stdout } = await runCli(['schema', kind]);
    expect(status).toBe(0);
    const schema = JSON.parse(stdout) as { readonly title: string };
    expect(schema.title).toMatch(/^Bailiwick: /);
    const line = (await runCli(['schema', kind, '--format', 'json'])).stdout;
    expect([line.trim().split('\n').length, JSON.parse(line)]).toEqual([1, schema]);
    expect(new Ajv({ strict: false }).compile(schema)(kind === 'sections' ? { grants: [{}] } : { bailiwick: 2 })).toBe(
      false,
    );
  });

  test('another kind is a usage error', async () => {
    expect((await runCli(['schema', 'grants'])).status).toBe(2);
  });
});

describe('codes', () => {
  test('lists all, and shows the page of one', async () => {
    const all = await runCli(['codes']);
    expect(
      all.stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(PROBLEM_CODES);
    const one = await runCli(['codes', 'lint_role_unused']);
    expect(one.stdout).toMatch(
      /^LINT_ROLE_UNUSED \(warning\): a role that nothing refers to\n\n[^]*\nWrong:\n {2}roles:\n[^]*\nRight:\n/,
    );
    const json = await runCli(['codes', 'GRANT_WINDOW', '--format', 'json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: 'GRANT_WINDOW', severity: 'error' });
  });

  test('offers the nearest of a code that does not exist', async () => {
    const run = await runCli(['codes', 'GRANT_WINDO']);
    expect(run).toMatchObject({
      status: 2,
      stderr: 'error: there is no code `GRANT_WINDO`\n  help: did you mean `GRANT_WINDOW`?\n',
    });
  });
});
