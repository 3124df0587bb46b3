// The command line as a user meets it: usage, help, exit statuses, and the form of every failure.
import { spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { PEER_VERBS } from '../../server/cli/peer-verbs.js';
import { fromRoot } from '../support/root.js';
import { CLI, runCli, spawnCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';

const VERBS = [
  'check',
  'compile',
  'decide',
  'inspect',
  'serve',
  'local',
  'migrate',
  'load',
  'keys',
  'config',
  'version',
];

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

test.each([...VERBS, 'keys create', 'keys list', 'keys revoke', 'config check', 'completion'])(
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

test('every verb of another tool leads to one of ours, and none is one', async () => {
  const verbs = [...(await runCli(['--help'])).stdout.matchAll(/^ {2}([a-z-]+)/gm)].map(([, verb]) => verb);
  for (const [theirs, ours] of PEER_VERBS)
    expect([verbs.includes(theirs), verbs.includes(ours)]).toEqual([false, true]);
});

describe('wrong usage is exit 2, with what was probably meant', () => {
  test.each<[string, readonly string[], string, string]>([
    ['an unknown verb', ['chek'], 'there is no verb `chek`', 'did you mean `check`?'],
    [
      'an unknown option',
      ['check', '.', '--formt', 'json'],
      'there is no option `--formt`',
      'did you mean `--format`?',
    ],
    ['a missing argument', ['check'], '`<dir>` is missing', 'see `bailiwick help check`'],
    ['a missing option', ['compile', '.'], '`-o, --output <file>` is missing', 'see `bailiwick help compile`'],
    [
      'a wrong choice',
      ['check', '.', '--format', 'xml'],
      '`xml` is not a value of `--format <format>`',
      'write one of text, json, sarif, github, junit',
    ],
    ['too many arguments', ['check', 'a', 'b'], 'too many arguments: 2 instead of 1', 'see `bailiwick help check`'],
    ['a verb below a verb', ['keys', 'revoke'], '`<key-id>` is missing', 'see `bailiwick help keys revoke`'],
    ['no verb', ['--formt'], 'there is no option `--formt`', 'see `bailiwick help`'],
    ['a verb of another tool', ['lint'], 'there is no verb `lint`', '`bailiwick check` does that'],
    ['another verb of another tool', ['plan'], 'there is no verb `plan`', '`bailiwick diff` does that'],
    ['a verb that is far from any', ['delete'], 'there is no verb `delete`', 'see `bailiwick help`'],
    [
      'a short option that is like no other',
      ['check', '.', '--foo'],
      'there is no option `--foo`',
      'see `bailiwick help check`',
    ],
    ['a misspelt verb below a verb', ['keys', 'lst'], 'there is no verb `keys lst`', 'did you mean `list`?'],
    [
      'all missing options at once',
      ['explain', '.'],
      '`--as <identity>`, `--scope <scope>`, `--namespace <path>` are missing',
      'see `bailiwick help explain`',
    ],
    [
      'all missing arguments and options at once',
      ['visible'],
      '`<policy>`, `--as <identity>`, `--family <family>`, `--namespace <path>` are missing',
      'see `bailiwick help visible`',
    ],
    [
      'what is missing and what excludes what, at once',
      ['sign', '--add', 'a.json', '--expires', 'b', '--generation', '7'],
      '`<snapshot>`, `--key <file>` are missing; `--add <statement>` cannot be used with `--generation <number>`, `--expires <instant>`',
      'see `bailiwick help sign`',
    ],
    [
      'all that a key lacks',
      ['keys', 'create', '--scope', 'x', '--scope-none'],
      '`--actor <id>`, `--identity <provider:subject>` are missing; `--scope-none` cannot be used with `--credential-scopes, --scope <scope>`',
      'see `bailiwick help keys create`',
    ],
    [
      'all that an admin key does not have',
      ['keys', 'create', '--admin', '--actor', 'a', '--identity', 'x:y', '--scope', 'x', '--restrict-none'],
      '`--admin` cannot be used with `--identity <provider:subject>`, `--credential-scopes, --scope <scope>`, `--restrict-none`',
      'see `bailiwick help keys create`',
    ],
    [
      'an empty path, as of a variable that is not set',
      ['check', ''],
      'the path of a file or folder is empty',
      'write one; a variable of the shell that is not set gives none',
    ],
    [
      'an empty path for a key',
      ['keygen', '-o', ''],
      'the path of a file or folder is empty',
      'write one; a variable of the shell that is not set gives none',
    ],
    [
      'a key in a folder that is not there',
      ['keygen', '-o', 'no/such/key'],
      '`no/such/key` cannot be written (ENOENT)',
      'make its folder first, or name a file in a folder that exists',
    ],
    [
      'a file in a folder that is not there',
      ['playground', '-o', 'no/such/page.html'],
      '`no/such/page.html` cannot be written (ENOENT)',
      'make its folder first, or name a file in a folder that exists',
    ],
    ['help about nothing', ['help', 'nothing'], 'there is no help about `nothing`', 'see `bailiwick help`'],
    ['help about a verb of others', ['help', 'lint'], 'there is no help about `lint`', 'see `bailiwick help check`'],
    ['help about a near verb', ['help', 'key'], 'there is no help about `key`', 'did you mean `keys`?'],
    [
      'help about a near verb below a verb',
      ['help', 'keys', 'crate'],
      'there is no help about `keys crate`',
      'did you mean `create`?',
    ],
    [
      'help about a near topic',
      ['help', 'guardrail'],
      'there is no help about `guardrail`',
      'did you mean `guardrails`?',
    ],
    [
      'help about a topic in the plural',
      ['help', 'policies'],
      'there is no help about `policies`',
      'did you mean `policy`?',
    ],
    [
      'help about a topic in the singular',
      ['help', 'query'],
      'there is no help about `query`',
      'did you mean `queries`?',
    ],
  ])('%s', async (_name, args, message, help) => {
    const run = await runCli(args);
    expect(run).toEqual({
      status: 2,
      stdout: '',
      stderr: `error: ${message}\n  help: ${help}\n`,
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

test('a reader that goes away is not an error', async () => {
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

describe('a stream on a full disk', () => {
  const onto = (args: readonly string[], full: 'stdout' | 'stderr'): ReturnType<typeof spawnSync> => {
    const disk = openSync('/dev/full', 'w');
    try {
      const stdio: StdioOptions = full === 'stdout' ? ['ignore', disk, 'pipe'] : ['ignore', 'pipe', disk];
      return spawnSync(process.execPath, [CLI, ...args], { stdio, encoding: 'utf8', timeout: 20_000 });
    } finally {
      closeSync(disk);
    }
  };

  test.each([['version'], ['version', '--format', 'json'], ['check', '/nowhere', '--format', 'json'], ['codes']])(
    'as stdout is exit 2 and one line: %s %s %s',
    (...args) => {
      const { status, stderr } = onto(args, 'stdout');
      expect([status, stderr]).toEqual([2, 'error: the output cannot be written (ENOSPC)\n']);
    },
  );

  test('as stderr changes neither result nor exit status', () => {
    expect(onto(['check', '/nowhere'], 'stderr')).toMatchObject({ status: 2, stdout: '' });
    expect(onto(['version'], 'stderr')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^bailiwick /) });
  });
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
