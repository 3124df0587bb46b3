// The command line as a user meets it: usage, help, exit statuses, and the form of every failure.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { fromRoot } from '../support/root.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const VERBS = ['check', 'compile', 'decide', 'inspect', 'serve', 'local', 'migrate', 'load', 'keys'];

test('without a verb: the help, on stderr, and exit 2', async () => {
  const run = await spawnCli([]);
  expect(run.status).toBe(2);
  expect(run.stdout).toBe('');
  for (const verb of VERBS) expect(run.stderr).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
  expect(run.stderr).toContain('3  policy invalid');
});

test('help on stdout, and exit 0', async () => {
  for (const args of [['--help'], ['help']]) {
    const run = await runCli(args);
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain('Usage: bailiwick');
  }
});

test.each([...VERBS, 'keys create', 'keys list', 'keys revoke'])(
  '`help %s` has examples that name the verb',
  async (verb) => {
    const run = await runCli(['help', ...verb.split(' ')]);
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toContain(`Usage: bailiwick ${verb}`);
    const examples = run.stdout.slice(run.stdout.indexOf('Examples:'));
    expect(examples).toContain(`bailiwick ${verb}`);
  },
);

test('--version prints the version of the package', async () => {
  const manifest = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as { version: string };
  expect(await spawnCli(['--version'])).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' });
});

describe('wrong usage is exit 2, with what was probably meant', () => {
  test.each<[string, readonly string[], string, string]>([
    ['an unknown verb', ['chek'], "unknown command 'chek'", 'did you mean `check`?'],
    ['an unknown option', ['check', '.', '--formt', 'json'], "unknown option '--formt'", 'did you mean `--format`?'],
    ['a missing argument', ['check'], "missing required argument 'dir'", 'see `bailiwick help check`'],
    [
      'a missing option',
      ['compile', '.'],
      "required option '-o, --output <file>' not specified",
      'see `bailiwick help compile`',
    ],
    [
      'a wrong choice',
      ['check', '.', '--format', 'xml'],
      "option '--format <format>' argument 'xml' is invalid. Allowed choices are text, json, sarif, github, junit.",
      'see `bailiwick help check`',
    ],
    [
      'too many arguments',
      ['check', 'a', 'b'],
      "too many arguments for 'check'. Expected 1 argument but got 2.",
      'see `bailiwick help check`',
    ],
    [
      'a verb below a verb',
      ['keys', 'revoke'],
      "missing required argument 'key-id'",
      'see `bailiwick help keys revoke`',
    ],
    ['no verb', ['--formt'], "unknown option '--formt'", 'see `bailiwick help`'],
    ['help for no verb', ['help', 'nothing'], 'there is no verb `nothing`', ''],
  ])('%s', async (_name, args, message, help) => {
    const run = await runCli(args);
    expect(run).toEqual({
      status: 2,
      stdout: '',
      stderr: `error: ${message}\n${help === '' ? '' : `  help: ${help}\n`}`,
    });
    const json = await runCli([
      ...args.filter((arg) => arg !== '--format' && arg !== 'xml'),
      '--format',
      args.includes('xml') ? 'xml' : 'json',
      '--format=json',
    ]);
    expect(json.stderr).toBe('');
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
  });

  test('what was typed cannot steer the terminal', async () => {
    const run = await runCli(['\u001b[2J\nerror: forged']);
    expect(run.status).toBe(2);
    expect(run.stderr).toContain('\\x1b[2J\\nerror: forged');
    expect(run.stderr).not.toContain('\u001b');
  });

  test('`--` ends the flags', async () => {
    const folder = await makeFolder();
    const run = await runCli(['check', '--', '--format'], { cwd: folder });
    expect(run).toEqual({ status: 2, stdout: '', stderr: 'error: `--format` does not exist\n' });
  });
});

test('a reader that goes away is no error', async () => {
  const requests =
    '{"id":"r","actor":"local","request":{"kind":"access","scope":"resource:read","target":"/"}}\n'.repeat(20_000);
  const folder = await makeFolder({
    'policy/policy.yaml': 'bailiwick: 1\nname: p\nproviders: {}\n',
    'requests.jsonl': requests,
  });
  const child = spawn(process.execPath, [CLI, 'decide', 'policy', '--requests', 'requests.jsonl'], { cwd: folder });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.once('data', () => child.stdout.destroy());
  const status = await new Promise((resolve) => child.on('close', resolve));
  expect([status, stderr]).toEqual([0, '']);
});

test('an unexpected failure is exit 1 and one line, with the stack only on request', async () => {
  const folder = await makeFolder({ 'package.json': '{}' });
  // A folder removed under the process: nothing that the program expects.
  const script = `process.cwd = () => { throw new Error('the ground is gone'); }; await import(${JSON.stringify(CLI)});`;
  const run = (env: Record<string, string>): Promise<{ status: number | null; stderr: string }> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, CLI], {
        cwd: folder,
        env: { PATH: process.env['PATH'] ?? '', ...env },
      });
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      child.on('close', (status) => {
        resolve({ status, stderr });
      });
    });
  const quiet = await run({});
  expect(quiet.status).toBe(1);
  expect(quiet.stderr).toMatch(
    /^error: unexpected failure: the ground is gone\n {2}help: this is a bug of bailiwick: [^\n]*\n$/,
  );
  expect((await run({ BAILIWICK_DEBUG: '1' })).stderr).toContain(' at ');
});
