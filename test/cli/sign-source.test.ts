// Where a published policy comes from: named by whoever signs, or found in git and proved by compiling the commit.
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRepository, type Repository } from '../support/git-repository.js';
import { type CliRun, runCli } from '../support/run-cli.js';
import { makeFolder } from '../support/temp-folder.js';
import { POLICY } from './policies.js';

const FOR = ['--environment', 'production', '--generation', '7', '--expires', '2999-01-01T00:00:00Z'];
const COMMIT = 'ab'.repeat(20);
let repository: Repository;
let commit: string;
let out: string;
const run = (...args: readonly string[]): Promise<CliRun> => runCli(args, { cwd: repository.path });
const sign = (...args: readonly string[]): Promise<CliRun> =>
  run('sign', join(out, 's.json'), '--key', join(out, 'ana.key'), ...FOR, ...args);

const ORIGIN = 'https://token:x-oauth@git.example.org/facility/policies.git';

async function signedSource(...args: readonly string[]): Promise<unknown> {
  const { status, stdout, stderr } = await sign(...args, '--format', 'json');
  expect([status, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { readonly statement: { readonly source?: unknown } }).statement.source;
}

beforeAll(async () => {
  repository = await makeRepository();
  out = await makeFolder();
  const files = Object.entries(POLICY).map(([path, text]): [string, string] => [`deep/policies/${path}`, text]);
  commit = repository.commit({
    ...Object.fromEntries(files),
    'other/policy.yaml': 'bailiwick: 1\nname: other\n',
    'broken/policy.yaml': 'nothing: [',
  });
  repository.run('remote', 'add', 'origin', ORIGIN);
  await run('compile', 'deep/policies', '-o', join(out, 's.json'));
  for (const name of ['ana', 'ben']) {
    const { stdout } = await run('keygen', '-o', join(out, `${name}.key`));
    if (name === 'ana') writeFileSync(join(out, 'keyring.yaml'), stdout.slice(stdout.indexOf('threshold:')));
  }
});

beforeEach(() => {
  rmSync(join(out, 's.json.dsse.json'), { force: true });
});

it('is not said unless it is asked for', async () => {
  expect(await signedSource()).toBeUndefined();
});

it('is found in git, where the current commit compiles to this snapshot, and never with a password', async () => {
  const source = { commit, repository: 'https://git.example.org/facility/policies.git' };
  expect(await signedSource('--source-commit', '--source-repository')).toEqual(source);
  const verified = await run('verify', join(out, 's.json'), '--keyring', join(out, 'keyring.yaml'));
  expect(verified.stdout).toContain(`compiled from ${commit} of ${source.repository}\n`);
  expect(verified.status).toBe(0);
});

it.each(['http://t0ken@git.example.org/p.git', 'http://ana:s3cret@git.example.org/p.git'])(
  'is said without the user of an address that a token may stand in: %s',
  async (address) => {
    repository.run('remote', 'set-url', 'origin', address);
    try {
      expect(await signedSource('--source-commit', '--source-repository')).toEqual({
        ...{ commit, repository: 'http://git.example.org/p.git' },
      });
    } finally {
      repository.run('remote', 'set-url', 'origin', ORIGIN);
    }
  },
);

it('is found alone, and for what others have named', async () => {
  expect(await signedSource('--source-commit')).toEqual({ commit, repository: null });
  rmSync(join(out, 's.json.dsse.json'));
  const repositoryNamed = 'git@git.example.org:facility/policies.git';
  const named = { commit: COMMIT, repository: repositoryNamed };
  expect(await signedSource('--source-commit', COMMIT, '--source-repository', repositoryNamed)).toEqual(named);
});

it('is part of what is signed: another signer may leave it out, but not say another', async () => {
  await sign('--source-commit', COMMIT);
  const again = await run('sign', join(out, 's.json'), '--key', join(out, 'ben.key'), ...FOR, '--format', 'json');
  expect(JSON.parse(again.stdout)).toMatchObject({ change: 'added', statement: { source: { commit: COMMIT } } });
  const { status, stderr } = await sign('--source-commit', 'cd'.repeat(20));
  expect([status, stderr]).toEqual([6, expect.stringContaining(`source: there ${COMMIT}, now ${'cd'.repeat(20)}`)]);
});

it.each<[string, readonly string[], number, string]>([
  ['a repository without a commit', ['--source-repository', 'https://x.org/'], 2, 'needs `--source-commit`'],
  ['a password', ['--source-commit', COMMIT, '--source-repository', 'https://a:b@x.org/'], 2, 'holds a password'],
  ['half a commit', ['--source-commit', 'abcdef1'], 2, 'named by all digits of its hash'],
  ['a repository with spaces', ['--source-commit', COMMIT, '--source-repository', 'a b'], 2, 'named by a URL'],
])('%s is refused', async (_, args, expected, words) => {
  const { status, stderr } = await sign(...args);
  expect([status, stderr]).toEqual([expected, expect.stringContaining(words)]);
});

it('is not found for a snapshot of something else than what is committed', async () => {
  const changed = join(repository.path, 'deep', 'policies', 'roles.yaml');
  writeFileSync(changed, POLICY['roles.yaml'].replace('ana', 'bob'));
  await run('compile', 'deep/policies', '-o', join(out, 'changed.json'));
  repository.run('checkout', '-q', '.');
  const args = ['sign', join(out, 'changed.json'), '--key', join(out, 'ana.key'), ...FOR, '--source-commit'];
  const { status, stderr } = await run(...args);
  expect([status, stderr]).toEqual([
    6,
    expect.stringContaining(`no policy folder of the commit ${commit} compiles to this snapshot`),
  ]);
});

it('is not found where there is no git', async () => {
  const args = ['sign', join(out, 's.json'), '--key', join(out, 'ana.key'), ...FOR, '--source-commit'];
  const { status, stderr } = await runCli(args, { cwd: repository.path, env: { PATH: out } });
  expect([status, stderr]).toEqual([6, expect.stringContaining('the program `git` could not be run to its end')]);
});

it('is not found outside of a checkout, nor without a remote', async () => {
  const key = ['--key', join(out, 'ana.key')];
  const outside = await runCli(['sign', join(out, 's.json'), ...key, ...FOR, '--source-commit'], { cwd: out });
  expect([outside.status, outside.stderr]).toEqual([6, expect.stringContaining('is not in a git checkout')]);
  repository.run('remote', 'remove', 'origin');
  const { status, stderr } = await sign('--source-commit', '--source-repository');
  expect([status, stderr]).toEqual([6, expect.stringContaining('no remote `origin`')]);
});
